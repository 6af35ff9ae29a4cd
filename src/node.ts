import { hookProcess } from './hooks/hook-process.ts';
import * as writePath from './hooks/write-path.ts';
import * as errorSearch from './lessons/store/error-search.ts';

/** The hooks under Node: `node subagent-context.mjs` is the hook of that name. */
const fileName = (process.argv[1] ?? '').split(/[\\/]/).at(-1) ?? '';
await hookProcess({ name: writePath.hookNameOf(fileName) }, process.env, {
  writePath: async () => writePath,
  errorSearch: async () => errorSearch,
});
process.exit(0);
