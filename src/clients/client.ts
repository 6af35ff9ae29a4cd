import type { ClientName } from '../core/client-name.ts';
import type { Environment } from '../core/state-paths.ts';
import { ASKS_FIRST, type PermissionMode, type Permissions } from '../runs/model/permissions.ts';
import type { Thinking } from '../runs/model/run.ts';
import type { SaidOrDone } from '../runs/model/run-log.ts';
import { NO_TOOLS, type ToolName, type ToolPolicy } from '../runs/model/tool-policy.ts';
import { NO_USAGE, type Usage } from '../runs/model/turn.ts';
import type { Exit } from '../system/process-identity.ts';
import { type ClientUser, PASSED_ON, type Route } from './route.ts';
import type { McpRegistration } from './server-entry.ts';
import type { SessionStore } from './sessions.ts';
import {
  type HookCall,
  type McpServer,
  type OwnTools,
  offeredTools,
  type ShownServer,
  serverFor,
} from './tools.ts';

export type { HookCall, McpServer };

/**
 * A coding CLI: what to start for a turn, what its output says, and where its user's files are. Pure but for what reads
 * files: those to be written are described, and lines come in from outside. What a client cannot switch off stands in its
 * own file.
 */
export type Client = {
  /** That of its folder and of its program. */
  readonly name: ClientName;
  /** As its users call it. */
  readonly title: string;
  readonly npmPackage: string;
  /** The client itself keeps to a budget in USD. */
  readonly keepsBudget: boolean;
  /** What ends it with the least left behind; after that SIGTERM, then SIGKILL. */
  readonly politeSignal: 'SIGINT' | 'SIGTERM';
  readonly thinking: readonly Thinking[];
  readonly version: {
    /** What it prints when it is asked for it. */
    readonly read: (stdout: string) => string | undefined;
    /** Releases that this adapter was measured with; others work with a warning. */
    readonly measured: readonly string[];
  };

  /** What is wrong with the name of a model, if anything. */
  readonly modelProblem?: (model: string) => string | undefined;
  /** Which denied tools the client cannot be kept from, in the words of the policy; empty: the policy holds. */
  readonly gaps: (policy: ToolPolicy) => readonly string[];
  /** Which of these rules the client cannot keep to, word for word; nobody's run may do what they forbid. */
  readonly ruleGaps: (permissions: Permissions) => readonly string[];
  /** It asks before it reads, so that reading has to be permitted. */
  readonly asksToRead?: boolean;
  /** What it reads by where nothing may be changed, besides `read`: commands, in a sandbox that writes nothing. */
  readonly readsBy?: readonly ToolName[];
  /** It does not tell which calls its sandbox refused. */
  readonly hidesRefusals?: boolean;

  /** All that a child may be offered. */
  readonly tools?: OwnTools;
  /** What is to be run for a turn, as far as it is of this client; turnCommand() adds what is the same for all. */
  readonly command: (request: OwnRequest) => OwnCommand;
  /** The client as a person's own, going on with a run's session on a terminal; what it `keeps` is below `kept`. */
  readonly attach: (session: {
    readonly id: string;
    readonly kept: string;
  }) => Pick<OwnCommand, 'args' | 'env'>;
  /** Reads one turn's output, line by line. */
  readonly reader: (start: ReaderStart) => TurnReader;
  /** A call of one of its tools, as hooks are told of it. */
  readonly hookCalls: (call: HookCall) => readonly HookCall[];
  /** Its user's sessions. */
  readonly sessions: SessionStore;
  /** Exit codes of commands by the ids of their calls, where its output does not have them. Never throws. */
  readonly exitCodes?: (runDirectory: string) => ExitCodes;

  /** Where the user's own client sends questions to; `model`: the one that is asked for. @throws RouteRefusal */
  readonly route: (user: ClientUser, model: string | null) => Route;
  /** What the user's own client may do without asking. @throws RouteRefusal when its configuration cannot be read. */
  readonly permissions: (user: ClientUser) => Permissions;
  readonly login: ClientLogin;
  readonly caller: ClientCaller;
  readonly server: McpRegistration;
};

/** What a client takes from its user's configuration and environment. */
export type ClientConfiguration = Pick<Client, 'route' | 'permissions' | 'login' | 'caller' | 'server'>;

/** The exit code of a call; undefined when nothing is said of it. */
export type ExitCodes = (callId: string) => number | undefined;

/** Where an agent may have a login of its own for the client. */
type ClientLogin = {
  /** Below the agent's directory, which may be laid out as a home directory is. */
  readonly directories: readonly string[];
  /** Files in such a directory that are, or hold, a login. */
  readonly files: Readonly<Record<string, 'is a login' | ((text: string) => boolean)>>;
  /** Names such a directory to the client. */
  readonly variable?: string;
  /** Logins of the caller's environment, which the client would take instead of the agent's. */
  readonly variables: readonly string[];
  readonly linked?: LinkedLogin;
};

/** For a client whose home is the turn's own directory: what of the user's is linked there. */
export type LinkedLogin = {
  /** The client's directory below a home. */
  readonly directory: string;
  readonly source: (user: Pick<ClientUser, 'env' | 'agentDir'>) => string;
  /** What belongs to the login. */
  readonly files: readonly string[];
  /** What a session is found by, or grows with it: it stays the run's own. */
  readonly ofSession: readonly string[];
};

/** How a session of the client is recognised when one of its tools, or the client itself, asks for something. */
type ClientCaller = {
  /** What it sets for whatever its tools start: any value, or this one. */
  readonly marks: Readonly<Record<string, '1' | 'any'>>;
  /** The variable with the session's id, where hooks of ours can reach that session. */
  readonly sessionVariable?: string;
  /** The variable with the id under which its store has that session, if it sets one for its tools. */
  readonly storedSessionVariable?: string;
  /** As it calls itself when it connects to an MCP server; measured. */
  readonly mcpName: string;
  /** The model that the session works with, by its record or the environment; null: nobody says. */
  readonly model?: (session: string | null, env: Environment) => string | null;
  /** The mode in which the session was last seen, by its record; undefined: nobody says. */
  readonly mode?: (session: string | null, env: Environment) => PermissionMode | undefined;
};

export type TurnSession =
  /** `id` where the client takes one. */
  | { readonly kind: 'new'; readonly id: string }
  | { readonly kind: 'resume'; readonly id: string }
  /** A question without tools that is not saved; `instructions` take the place of the client's own. */
  | { readonly kind: 'once'; readonly instructions: string };

export type TurnRequest = {
  readonly prompt: string;
  readonly session: TurnSession;
  /** As the client names its models; null: that of the route, else the client chooses. */
  readonly model: string | null;
  readonly route: Route;
  readonly thinking: Thinking | null;
  /** `NO_TOOLS` for a question and the announce step, which only put into words. */
  readonly policy: ToolPolicy;
  /** Which calls of those tools are let through. */
  readonly permissions: Permissions;
  readonly budgetUsd: number | null;
  /** The child's working directory. */
  readonly cwd: string;
  /** An empty private directory for `files`, and for what the client leaves behind of its own. Absolute. */
  readonly directory: string;
  /** Our own MCP server for the child, when the policy lets it have one; else no server at all. */
  readonly mcp: McpServer | null;
  /** Where the agent's own logins are, in the layout of the client's own directory; null: the user's. */
  readonly agentDir: string | null;
};

/** The same, with what the policy comes to: the client's tools by their names there, and our server. */
export type OwnRequest = TurnRequest & {
  readonly tools: readonly string[];
  readonly server: ShownServer | null;
};

/** What is of one client in a TurnCommand. The prompt is in `stdin` alone. */
export type OwnCommand = Pick<TurnCommand, 'args' | 'stdin'> & Partial<TurnCommand>;

/** What is to be run, and around it. */
export type TurnCommand = {
  readonly program: string;
  readonly args: readonly string[];
  readonly stdin: string;
  /** By their paths below `directory`; to be written, readable by the user only, before the start. */
  readonly files: Readonly<Record<string, string>>;
  /** Directories below `directory` that the run's next turn has to find as they were left. */
  readonly keeps: readonly string[];
  /** Added to what is passed on, and stronger. */
  readonly env: Readonly<Record<string, string>>;
  /** Variables which the client needs of the caller's environment: names, and beginnings that end in `*`. */
  readonly passedOn: readonly string[];
};

/**
 * What is to be run for a turn. Hooks of ours end at once when they see the first variable, so that an analysis never feeds
 * on itself; what the client leaves in its temporary directory, the prompt among it, goes with the private one.
 */
export function turnCommand(client: Client, request: TurnRequest): TurnCommand {
  const { route, agentDir, directory, policy } = request;
  const model = request.model ?? route.model;
  const tools = offeredTools(policy, client.tools ?? {});
  const own = client.command({ ...request, model, tools, server: serverFor(policy, request.mcp) });
  const common = { SELF_GENERATION_INTERNAL: '1', TMPDIR: directory, TMP: directory, TEMP: directory };
  return {
    ...{ program: client.name, files: {}, keeps: [], ...own },
    env: { ...common, ...route.env, ...loginVariable(client, agentDir), ...own.env },
    passedOn: [...PASSED_ON, ...(own.passedOn ?? []), ...route.passedOn],
  };
}

/** The variable that leads a client to an agent's own login. */
export function loginVariable({ login }: Client, agentDir: string | null): Record<string, string> {
  return agentDir === null || login.variable === undefined ? {} : { [login.variable]: agentDir };
}

/** What a line of the output says that matters here, in one union for all clients. Texts are raw: untrusted, unredacted, of any length. */
export type AgentEvent =
  | { readonly kind: 'session'; readonly id: string; readonly model: string | null }
  | SaidOrDone
  /** What the model says that it thinks, where its client tells it: no part of an answer. */
  | { readonly kind: 'reasoning'; readonly text: string }
  /** The call of this id was not let through; its result may say so as well. Null: the client does not say which. */
  | { readonly kind: 'refused'; readonly id: string | null }
  /** The whole of the turn so far, ready to be compared with a budget. */
  | { readonly kind: 'usage'; readonly usage: Usage }
  | { readonly kind: 'warning'; readonly text: string }
  /** The client's last word on the turn. Nothing of the turn follows, though the process may take its time. */
  | { readonly kind: 'result'; readonly isError: boolean; readonly text: string | null };

export type ReaderStart = {
  /** The session that was asked for; a client that answers with another one has not done what was asked. */
  readonly session: TurnSession;
  /** What the session had used before, for clients that count over the whole session. */
  readonly before: Usage;
  /** The model that was asked for, for clients that do not name the one that answers before the end. */
  readonly model?: string | null;
};

export type TurnReader = {
  /** Events of one line without its line feed. Never throws; a line that is no JSON gives none. */
  readonly read: (line: string) => readonly AgentEvent[];
  /** The turn's conclusion. `exit` is null when nobody saw the end of the process. */
  readonly conclude: (exit: Exit | null, stderr: string) => Conclusion;
};

/** Success needs a good exit and the client's own word; a turn without either is an error, not a success. */
export type Conclusion = {
  readonly outcome: 'success' | 'error' | 'unknown';
  /** The last message of the assistant; also of a turn that failed, as far as it came. */
  readonly text: string | null;
  /** One line, in the client's own words where it has any; null for a success. */
  readonly error: string | null;
  /** The model was refused before anything was done: the turn may be tried again with another. */
  readonly isModelRefused: boolean;
  readonly sessionId: string | null;
  readonly usage: Usage;
};

export type OneShotAnswer =
  | { readonly kind: 'answered'; readonly text: string; readonly usage: Usage }
  /** `reason`: one line in the client's own words where it has any. */
  | { readonly kind: 'failed'; readonly reason: string; readonly usage: Usage };

type Question = Pick<TurnRequest, 'prompt' | 'model' | 'route' | 'budgetUsd' | 'directory'> &
  Partial<Pick<TurnRequest, 'agentDir'>>;

/** The instructions take the place of the client's own, which speak of tools that are not there. */
const ONCE: TurnSession = {
  kind: 'once',
  instructions:
    'Answer from the prompt alone. You have no tools, no files and no network, and nobody can be asked. ' +
    'Give the whole answer at once, in the form that the prompt asks for.',
};

/**
 * What is to be run to ask a model once: a turn without a session and any tool, in an empty directory. A budget is kept to
 * by clients that can.
 */
export function oneShotCommand(
  client: Client,
  { budgetUsd, agentDir = null, ...request }: Question,
): TurnCommand {
  return turnCommand(client, {
    ...request,
    ...{ session: ONCE, thinking: null, mcp: null, agentDir, cwd: request.directory },
    ...{ policy: NO_TOOLS, permissions: ASKS_FIRST, budgetUsd: client.keepsBudget ? budgetUsd : null },
  });
}

/** What came of a question; an answer only when the client itself says that it came to a good end. Never throws. */
export function readAnswer(
  client: Client,
  end: { readonly code: number | null; readonly stdout: string; readonly stderr: string },
): OneShotAnswer {
  const { code, stdout, stderr } = end;
  const reader = client.reader({ session: ONCE, before: NO_USAGE });
  // On line feeds alone: a model's text may hold U+2028 and the like, which JSON does not escape.
  for (const line of stdout.split('\n')) reader.read(line);
  const said = stderr.trim() === '' ? stdout : stderr;
  const { outcome, text, error, usage } = reader.conclude({ code, signal: null }, said);
  if (outcome === 'success' && text !== null) return { kind: 'answered', text, usage };
  return { kind: 'failed', reason: error ?? 'the client gave no reason', usage };
}
