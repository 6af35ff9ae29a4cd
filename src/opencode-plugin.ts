import { server } from './prune/opencode/plugin.ts';

// biome-ignore lint/style/noDefaultExport: of any other export OpenCode would start each function as a plugin.
export default { id: 'self-generation', server };
