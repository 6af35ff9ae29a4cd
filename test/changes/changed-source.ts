import { cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join, resolve } from 'node:path';
import { compile } from '../../scripts/build.ts';

const ROOT = resolve(import.meta.dir, '../..');

/** What a change adds: new files below src/ with their text, and lines put behind a line that stands in a file. */
export type Change = {
  readonly files: Readonly<Record<string, string>>;
  readonly rows: readonly { readonly file: string; readonly behind: string; readonly line: string }[];
  /** Shell scripts that are on the PATH of the program, by their names. */
  readonly programs?: Readonly<Record<string, string>>;
};

/** A copy of the program with a change in it. */
export class ChangedSource implements Disposable {
  readonly #root = mkdtempSync(join(tmpdir(), 'self-generation-change-'));
  #command = [process.execPath, join(this.#root, 'src/main.ts')];

  constructor({ files, rows, programs = {} }: Change) {
    for (const name of ['src', 'package.json', 'tsconfig.json']) {
      cpSync(join(ROOT, name), join(this.#root, name), { recursive: true });
    }
    symlinkSync(join(ROOT, 'node_modules'), join(this.#root, 'node_modules'));
    mkdirSync(join(this.#root, 'home'));
    mkdirSync(join(this.#root, 'bin'));
    for (const [name, script] of Object.entries(programs)) {
      writeFileSync(join(this.#root, 'bin', name), `#!/bin/sh\n${script}`, { mode: 0o755 });
    }
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(dirname(join(this.#root, 'src', file)), { recursive: true });
      writeFileSync(join(this.#root, 'src', file), text);
    }
    for (const { file, behind, line } of rows) {
      const path = join(this.#root, 'src', file);
      const text = readFileSync(path, 'utf8');
      const parts = text.split(`${behind}\n`);
      if (parts.length !== 2)
        throw new Error(`Cannot change ${file}: "${behind}" stands in it ${parts.length - 1} times`);
      writeFileSync(path, parts.join(`${behind}\n${line}\n`));
    }
  }

  /** Compiles the changed program: what is run from then on can be installed. */
  async build(): Promise<void> {
    const program = join(this.#root, 'self-generation');
    await compile(join(this.#root, 'src/main.ts'), program);
    this.#command = [program];
  }

  /** Runs the changed program in a home of its own; `input` is its standard input. */
  run(words: readonly string[], { input = '' }: { readonly input?: string } = {}) {
    const { exitCode, stdout, stderr } = Bun.spawnSync([...this.#command, ...words], {
      cwd: this.#root,
      env: {
        PATH: `${join(this.#root, 'bin')}:${process.env.PATH}`,
        HOME: join(this.#root, 'home'),
        NO_COLOR: '1',
      },
      stdin: Buffer.from(input),
    });
    return { exitCode, stdout: stdout.toString(), stderr: stderr.toString() };
  }

  /** What the type checker says of the changed program; nothing when it agrees. */
  typeErrors(): string {
    const { exitCode, stdout } = Bun.spawnSync([process.execPath, 'check', '--no-script'], {
      cwd: this.#root,
    });
    return exitCode === 0 ? '' : stdout.toString();
  }

  [Symbol.dispose](): void {
    rmSync(this.#root, { recursive: true, force: true });
  }
}
