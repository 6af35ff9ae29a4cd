import { describe, expect, setDefaultTimeout, test } from 'bun:test';
import { mkdirSync, symlinkSync, truncateSync, writeFileSync } from 'node:fs';
import fc from 'fast-check';
import { hookPayload } from '../support/arbitrary-payload.ts';
import { hookFailures, readEvents, readRows, spoolFiles, temporaryHome } from '../support/home.ts';
import { answerIn, contextOf, inParallel, runHookProcess, runProgram } from '../support/hook-process.ts';
import { openHook, peakBytesOf } from '../support/open-hook.ts';
import { agentStart, bashFailure, payload, prompt, SESSION } from '../support/payloads.ts';
import { BINARY, ROOT } from '../support/program.ts';
import { seedErrors } from '../support/seed.ts';

/** Whatever comes in on standard input: exit code 0, and on standard output nothing or one JSON document. */

setDefaultTimeout(120_000);
const MIB = 1024 * 1024;
const MEMORY_MAX = 64 * MIB;

describe('a hundred megabytes', () => {
  const whole = JSON.stringify({ ...prompt(''), prompt: undefined });
  const inputs: [what: string, beginning: string, filling: string, ending: string, recorded: number][] = [
    ['one huge field', `${whole.slice(0, -1)},"prompt":"`, 'x', '"}\n', 1],
    ['one huge field before the others', '{"prompt":"', 'x', `","session_id":"${SESSION}"}`, 1],
    ['garbage', '', '\u0001{[', '', 0],
    ['open brackets', '', '[', '', 0],
    ['closing braces', '{', '}', '', 0],
  ];
  for (const [what, beginning, filling, ending, recorded] of inputs) {
    test(`of ${what} are read within 64 MiB of memory`, async () => {
      using home = temporaryHome();
      const hook = openHook(home.path);
      await hook.write(beginning);
      const part = new TextEncoder().encode(filling.repeat(MIB / filling.length));
      for (let sent = 0; sent < 100; sent++) await hook.write(part);
      await hook.write(ending);
      await hook.close();
      const { exitCode, stdout, peakBytes } = await hook.ended;
      expect(exitCode).toBe(0);
      expect(stdout).toHaveLength(0);
      expect(peakBytes).toBeGreaterThan(4 * MIB);
      expect(peakBytes).toBeLessThanOrEqual(MEMORY_MAX);
      expect(readEvents(home.paths)).toHaveLength(recorded);
      if (recorded > 0)
        expect(readEvents(home.paths)[0]?.data).toEqual({ text: 'x'.repeat(4000), charCount: 4000 });
      else expect(hookFailures(home.paths)[0]?.message).toContain('Cannot read the event');
    });
  }

  test('the measure of memory sees a program that keeps everything', async () => {
    const script =
      'const all = []; for await (const part of Bun.stdin.stream()) all.push(part.slice()); await Bun.sleep(50)';
    const child = Bun.spawn([process.execPath, '-e', script], { stdin: new Uint8Array(100 * MIB).fill(120) });
    expect(await peakBytesOf(child)).toBeGreaterThan(MEMORY_MAX);
  });
});

describe('an input that is never closed', () => {
  test('is answered when the JSON is complete', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'a well-known error' }]);
    const hook = openHook(home.path, 'subagent-context');
    await hook.write(`${JSON.stringify(agentStart('executor'))}\n`);
    const { exitCode, stdout } = await hook.ended;
    expect(exitCode).toBe(0);
    expect(answerIn(stdout)?.additionalContext).toContain('a well-known error');
    await hook.close();
  });

  test('is read in the pieces in which it comes', async () => {
    using home = temporaryHome();
    const bytes = new TextEncoder().encode(JSON.stringify(prompt('한글 {"a":{}} 🎉'.repeat(3))));
    const hook = openHook(home.path);
    for (let at = 0; at < bytes.length; at += 7) await hook.write(bytes.slice(at, at + 7));
    expect((await hook.ended).exitCode).toBe(0);
    expect(readEvents(home.paths).map((event) => event.data.text)).toEqual(['한글 {"a":{}} 🎉'.repeat(3)]);
    await hook.close();
  });

  const parts: [what: string, part: string][] = [
    ['half the JSON', JSON.stringify(prompt('hi')).slice(0, 40)],
    ['nothing', ''],
    ['a blank line', '\n'],
    ['a complete text that is no object', '"text"'],
  ];
  for (const [what, part] of parts) {
    test(`ends well with ${what}`, async () => {
      using home = temporaryHome();
      const hook = openHook(home.path);
      if (part !== '') await hook.write(part);
      const { exitCode, stdout } = await hook.ended;
      expect(exitCode).toBe(0);
      expect(stdout).toHaveLength(0);
      expect(readEvents(home.paths)).toEqual([]);
      await hook.close();
    });
  }
});

describe('broken inputs', () => {
  const whole = JSON.stringify(prompt('hi'));
  const bytes = (text: string) => new TextEncoder().encode(text);
  const raw = (...codes: number[]) =>
    Buffer.concat([bytes('{"prompt":"a'), new Uint8Array(codes), bytes('b"}')]);
  const rows: [what: string, input: Uint8Array, stored: string | undefined][] = [
    ['the whole payload', bytes(whole), 'hi'],
    ['a byte order mark before it', bytes(`\ufeff${whole}`), 'hi'],
    ['blanks around it', bytes(` \r\n\t${whole} \n\n`), 'hi'],
    ['half of it', bytes(whole.slice(0, -10)), undefined],
    ['two of them', bytes(whole + whole), undefined],
    ['NUL bytes after it', bytes(`${whole}\0\0`), undefined],
    ['NUL bytes alone', new Uint8Array(5000), undefined],
    ['a NUL byte inside a text', raw(0), undefined],
    ['an escaped NUL', bytes('{"prompt":"a\\u0000b"}'), 'ab'],
    ['a lone surrogate, escaped', bytes('{"prompt":"a\\ud83db"}'), 'a\ufffdb'],
    ['a lone surrogate as bytes', raw(0xed, 0xa0, 0xbd), 'a\ufffd\ufffd\ufffdb'],
    ['a cut UTF-8 sequence', raw(0xf0, 0x9f, 0x8e), 'a\ufffdb'],
    ['Latin-1', raw(0xe9, 0x20), 'a\ufffd b'],
    ['UTF-16', new Uint8Array(Buffer.from(whole, 'utf16le')), undefined],
    ['deeply nested', bytes(`{"prompt":"deep","x":${'['.repeat(400_000)}${']'.repeat(400_000)}}`), 'deep'],
    ['equal keys', bytes('{"prompt":"one","prompt":"two"}'), 'two'],
    ['a key of the prototype', bytes('{"__proto__":{"prompt":"x"},"prompt":"own"}'), 'own'],
  ];
  for (const [what, input, stored] of rows) {
    test(`${what}: ${stored === undefined ? 'nothing is recorded' : `"${stored}" is`}`, async () => {
      using home = temporaryHome();
      const result = await runProgram([BINARY, 'hook', 'prompt-logger'], { home: home.path, stdin: input });
      expect(result).toMatchObject({ exitCode: 0, stdout: '', stderr: '' });
      const texts = readEvents(home.paths).map((event) => event.data.text);
      expect(texts).toEqual(stored === undefined ? [] : [stored]);
      // What could not be read is noted, so nothing has passed unseen.
      expect(hookFailures(home.paths)).toHaveLength(stored === undefined ? 1 : 0);
    });
  }

  test('a directory that no file system can have costs no event', async () => {
    using home = temporaryHome();
    for (const cwd of ['/a\u0000b', `/${'x'.repeat(5000)}`, '/\ud83d', 7])
      await runHookProcess(prompt(String(cwd).slice(0, 3), { cwd }), { home: home.path });
    expect(readEvents(home.paths)).toHaveLength(4);
    expect(hookFailures(home.paths)).toEqual([]);
  });
});

describe('generated payloads', () => {
  const COUNT = 10_000;
  const WORKERS = 2;

  test(`${COUNT} of them: at most one JSON document in well-formed UTF-8 each`, async () => {
    using first = temporaryHome();
    using second = temporaryHome();
    const perWorker = COUNT / WORKERS;
    const reports = await inParallel([first, second], WORKERS, async (home, index) => {
      const program = [process.execPath, `${ROOT}/test/support/run-hooks.main.ts`];
      const words = [...program, String(perWorker), String(1000 + index)];
      const child = Bun.spawn(words, { env: { HOME: home.path }, stderr: 'pipe', stdin: 'ignore' });
      const [stdout, stderr] = await Promise.all([child.stdout.bytes(), child.stderr.text()]);
      expect(await child.exited, stderr).toBe(0);
      const outputs = splitAtNul(stdout);
      expect(outputs).toHaveLength(perWorker);
      const answers = outputs.filter((output) => answerIn(output) !== undefined).length;
      const events = Number(stderr.split(' ')[0]);
      expect(hookFailures(home.paths)).toEqual([]);
      expect(spoolFiles(home.paths)).toEqual([]);
      expect(readRows(home.paths, 'PRAGMA integrity_check')).toEqual([{ integrity_check: 'ok' }]);
      return { answers, events, rows: readEvents(home.paths).length };
    });
    // So that it cannot pass on payloads that reach nothing.
    for (const { answers, events, rows } of reports) {
      expect(events).toBeGreaterThan(perWorker / 2);
      expect(answers).toBeGreaterThan(perWorker / 50);
      // How many depends on how fast it is: equal prompts of one moment are one.
      expect(rows).toBeGreaterThan(perWorker / 20);
    }
  });

  test('a hundred of them through the binary', async () => {
    using home = temporaryHome();
    seedErrors(home.paths, [{ error: 'a well-known error' }]);
    const results = await inParallel(fc.sample(hookPayload(), { numRuns: 100, seed: 7 }), 4, (input) =>
      runHookProcess(input, { home: home.path }),
    );
    for (const result of results) {
      expect(result).toMatchObject({ exitCode: 0, stderr: '' });
      answerIn(result.stdoutBytes);
    }
    expect(readEvents(home.paths).length).toBeGreaterThan(20);
    expect(contextOf(await runHookProcess(agentStart('executor'), { home: home.path }))).toBeDefined();
  });

  test('the check refuses what is no answer', () => {
    const encode = (text: string) => new TextEncoder().encode(text);
    const answer = { hookEventName: 'SubagentStart', additionalContext: 'x' };
    const good = JSON.stringify({ hookSpecificOutput: answer });
    expect(answerIn(encode(good))).toBeDefined();
    expect(answerIn(encode(''))).toBeUndefined();
    const more = [good + good, `${good}\n${good}`, `log\n${good}`, `\ufeff${good}`];
    for (const bad of [...more, '{}', 'null', good.replace('"x"', '"\\ud83d"')])
      expect(() => answerIn(encode(bad)), bad).toThrow();
    const broken = Buffer.concat([encode(good.slice(0, -4)), new Uint8Array([0xff]), encode(good.slice(-4))]);
    expect(() => answerIn(broken)).toThrow();
  });
});

describe('a project directory', () => {
  const traps: [what: string, make: (file: string) => void][] = [
    ['a huge file', (file) => makeSparse(file, 600 * MIB)],
    ['a pipe', (file) => void Bun.spawnSync(['mkfifo', file])],
    ['a link to itself', (file) => symlinkSync(file, file)],
    ['a link to a device', (file) => symlinkSync('/dev/zero', file)],
    ['a text without meaning', (file) => writeFileSync(file, 'gitdir: ../nowhere')],
    ['an empty file', (file) => writeFileSync(file, '')],
  ];
  for (const [what, make] of traps) {
    test(`whose .git is ${what} costs neither the event nor much memory`, async () => {
      using home = temporaryHome();
      mkdirSync(`${home.path}/repo`);
      make(`${home.path}/repo/.git`);
      const hook = openHook(home.path);
      await hook.write(JSON.stringify(prompt('hi', { cwd: `${home.path}/repo` })));
      await hook.close();
      const { exitCode, peakBytes } = await hook.ended;
      expect(exitCode).toBe(0);
      expect(readEvents(home.paths)).toHaveLength(1);
      expect(peakBytes).toBeLessThanOrEqual(MEMORY_MAX);
    });
  }
});

function makeSparse(file: string, bytes: number): void {
  writeFileSync(file, 'gitdir: ');
  truncateSync(file, bytes);
}

test('a payload of a megabyte, whose tail is beyond the limit, is still recorded', async () => {
  using home = temporaryHome();
  const tool_input = { file_path: 'a.ts', new_string: 'y'.repeat(MIB * 2) };
  await runHookProcess(payload('post-tool-use-edit', { tool_input }), { home: home.path });
  await runHookProcess(bashFailure('z'.repeat(MIB * 2)), { home: home.path });
  expect(readEvents(home.paths).map((event) => event.type)).toEqual(['tool_use', 'tool_error']);
});

/** The bytes before each NUL; a JSON document has none. */
function splitAtNul(bytes: Uint8Array): Uint8Array[] {
  const parts = Buffer.from(bytes).toString('latin1').split('\0').slice(0, -1);
  return parts.map((part) => Buffer.from(part, 'latin1'));
}
