import { runWorker } from './conformance/workers.ts';
import { CASES, runCase } from './conformance.ts';

/**
 * The suite as a program: without words it runs every case under Node and prints one TAP line for each; `worker ROLE`
 * is another process of a case, under either runtime.
 */
async function runAll(): Promise<void> {
  console.log(`1..${CASES.length}`);
  for (const [index, one] of CASES.entries()) {
    try {
      await runCase(one, [process.execPath, process.argv[1] ?? '']);
      console.log(`ok ${index + 1} - ${one.title}`);
    } catch (error) {
      console.log(`not ok ${index + 1} - ${one.title}`);
      const text = error instanceof Error ? (error.stack ?? error.message) : String(error);
      console.log(text.replace(/^/gm, '# '));
    }
  }
}

const words = process.argv.slice(2);
if (words[0] === 'worker') await runWorker(words.slice(1));
else await runAll();
