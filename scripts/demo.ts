/**
 * Plays a recorded session through the built program in a throw-away home and shows what a sub-agent is given.
 *
 *   npm run demo
 */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pc from 'picocolors';

const BINARY = join(import.meta.dir, '..', 'dist', 'self-generation');
const RECORDING = join(import.meta.dir, '..', 'test', 'fixtures', 'demo-session.json');

type Step = { readonly told: string; readonly event: { readonly hook_event_name: string } };

function main(): void {
  const steps = JSON.parse(readFileSync(RECORDING, 'utf8')) as Step[];
  for (const language of ['en', 'ko']) {
    const home = mkdtempSync(join(tmpdir(), 'self-generation-demo-'));
    try {
      play(steps, home, language);
    } finally {
      rmSync(home, { recursive: true, force: true });
    }
  }
}

function play(steps: readonly Step[], home: string, language: string): void {
  const settings = `config set language ${language}`;
  console.log(pc.bold(`\nA session of Claude Code, hook by hook (${settings})\n`));
  run(['config', 'set', 'language', language], home);
  for (const { told, event } of steps) {
    const { stdout, elapsedMs } = run(['hook'], home, JSON.stringify(event));
    console.log(
      `${pc.dim(`${elapsedMs.toFixed(1).padStart(5)} ms`)}  ${event.hook_event_name.padEnd(19)} ${told}`,
    );
    if (stdout !== '') show(stdout);
    else if (told.endsWith(':'))
      throw new Error(`Cannot show the demo: ${event.hook_event_name} said nothing`);
  }
}

function run(words: string[], home: string, input = ''): { stdout: string; elapsedMs: number } {
  const startedMs = performance.now();
  const result = Bun.spawnSync([BINARY, ...words], {
    stdin: Buffer.from(input),
    env: { HOME: home, PATH: process.env.PATH },
  });
  const elapsedMs = performance.now() - startedMs;
  if (result.exitCode !== 0)
    throw new Error(`Cannot play "${words.join(' ')}": exit code ${result.exitCode}`);
  return { stdout: result.stdout.toString().trim(), elapsedMs };
}

/** What the hook answered, as the agent reads it. */
function show(stdout: string): void {
  const answer = JSON.parse(stdout) as { hookSpecificOutput: { additionalContext: string } };
  for (const line of answer.hookSpecificOutput.additionalContext.split('\n')) {
    console.log(`${' '.repeat(10)}${pc.cyan('│')} ${line}`);
  }
}

main();
