import type { Json } from '../../core/guards.ts';

/** OpenCode's side of a plugin, as far as it is used. What comes from there is checked where it is read. */

/** A message with its parts. A plugin may change the list of messages; each message stays as it is. */
export type HostMessage = { readonly info: Json; readonly parts: readonly Json[] };

/** What its client answers: never an exception for an error of the server. */
type Answer = { readonly data?: unknown; readonly error?: unknown };

type OfSession = { readonly path: { readonly id: string } };

/** Its own client, which asks the server that has loaded the plugin. */
export type HostClient = {
  readonly session: {
    get(request: OfSession): Promise<Answer>;
    messages(request: OfSession): Promise<Answer>;
  };
  readonly tui: {
    showToast(request: { readonly body: { readonly message: string; readonly variant: 'info' } }): unknown;
  };
};

/** What the server of a plugin is given. */
export type HostInput = { readonly client: HostClient; readonly directory: string };

/** The hooks of a plugin, or of a part of it. */
export type Hooks = {
  event?(input: { readonly event: Json }): Promise<void> | void;
  config?(config: Json): Promise<void> | void;
  'chat.message'?(
    input: { readonly sessionID: string },
    output: { readonly message: Json; readonly parts: Json[] },
  ): Promise<void> | void;
  'command.execute.before'?(
    input: { readonly command: string; readonly sessionID: string; readonly arguments: string },
    output: { readonly parts: Json[] },
  ): Promise<void> | void;
  'experimental.chat.messages.transform'?(
    input: object,
    output: { readonly messages: HostMessage[] },
  ): Promise<void> | void;
  'experimental.session.compacting'?(input: { readonly sessionID: string }): Promise<void> | void;
};

/** The session that all of these messages are of; undefined where they do not say it, or disagree. */
export function sessionOf(messages: readonly HostMessage[]): string | undefined {
  const id = messages[0]?.info.sessionID;
  return typeof id === 'string' && messages.every(({ info }) => info.sessionID === id) ? id : undefined;
}

/** What OpenCode answers, or `late` when that takes longer than `waitMs`. */
export function within<T>(waitMs: number, late: T, answer: Promise<T>): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => resolve(late), waitMs);
    answer.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
