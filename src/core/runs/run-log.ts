/** What was said and done in a run, as `log` shows it. Texts are raw: of the client, untrusted. */
export type LogEntry =
  | { readonly kind: 'user' | 'assistant'; readonly text: string }
  | { readonly kind: 'tool-call'; readonly tool: string; readonly text: string }
  | {
      readonly kind: 'tool-result';
      readonly tool: string;
      readonly isError: boolean;
      readonly text: string;
    };
