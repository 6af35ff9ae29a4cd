import type { StatePaths } from '../../core/state-paths.ts';
import type { PluginSettings } from './current-settings.ts';
import type { HostInput } from './host.ts';
import type { PluginLog } from './plugin-log.ts';
import type { SessionKinds } from './session-kinds.ts';

/** What the parts of the plugin have in common. */
export type Common = {
  readonly host: HostInput;
  readonly paths: StatePaths;
  readonly settings: () => PluginSettings;
  readonly log: PluginLog;
  readonly kinds: SessionKinds;
  /** Shows the user a line, where somebody sees it. */
  readonly show: (line: string) => void;
};
