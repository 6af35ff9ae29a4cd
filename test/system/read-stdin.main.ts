import { writeStdout } from '#runtime';
import { readHookInput } from '../../src/system/stdin.ts';

/**
 * What readHookInput() makes of this process's standard input, as JSON:
 *
 *   bun read-stdin.main.ts BYTES_MAX TIMEOUT_MS
 */
const [bytesMax = 0, timeoutMs = 0] = process.argv.slice(2).map(Number);
await writeStdout(JSON.stringify(await readHookInput({ bytesMax, timeoutMs })));
process.exit(0);
