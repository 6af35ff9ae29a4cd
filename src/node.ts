import { hookProcess } from './hook.ts';
import * as failures from './hooks/error-logger.ts';
import { hookByName } from './hooks/hook-names.ts';
import * as others from './hooks/write-path.ts';

/** The hooks under Node: `node subagent-context.mjs` is the hook of that name. */
const fileName = (process.argv[1] ?? '').split(/[\\/]/).at(-1) ?? '';
await hookProcess(hookByName(fileName)?.name, process.env, {
  others: async () => others,
  failures: async () => failures,
});
process.exit(0);
