import { rmSync, writeFileSync } from 'node:fs';
import { supervisorHome } from './supervisor-home.ts';

/**
 * A supervisor whose disk becomes full while its client works and has room again later. The home is in `TMPDIR`, the
 * client's sign to go on is a file outside of it.   bun full-disk.main.ts SIGN
 */
const [sign = ''] = process.argv.slice(2);
await using sup = supervisorHome({ announce: { mode: 'raw' } });
const turn = sup.accept(`[[until ${sign}]]`);
const supervisor = sup.supervise(turn);
await sup.until('the client works', () => sup.story(turn.runId).run.sessionId !== null);
const fillers: string[] = [];
for (let bytes = 1024 * 1024; bytes >= 1; bytes = Math.floor(bytes / 2)) fill(bytes);
writeFileSync(sign, '');
// The client ends; the supervisor cannot write that down and tries again.
await sup.until('the client has ended', () => sup.processes(turn.runId).length === 0);
await Bun.sleep(1500);
const isAlive = supervisor.exitCode === null && supervisor.signalCode === null;
for (const path of fillers) rmSync(path);
await supervisor.exited;
console.log(JSON.stringify({ isAlive, ...sup.story(turn.runId) }));

/** As many files of this size as there is room for. */
function fill(bytes: number): void {
  for (let index = 0; index < 1000; index++) {
    const path = `${sup.home.path}/filler-${bytes}-${index}`;
    try {
      fillers.push(path);
      writeFileSync(path, Buffer.alloc(bytes));
    } catch {
      return; // It is full for this size; what was written of it stays.
    }
  }
}
