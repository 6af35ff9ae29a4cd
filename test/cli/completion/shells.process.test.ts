import { describe, expect, test } from 'bun:test';
import { existsSync, mkdirSync, symlinkSync } from 'node:fs';
import { completionsCommand } from '../../../src/cli/completion/completions.ts';
import { SHELLS } from '../../../src/cli/completion/shells.ts';
import { until } from '../../runs/runs-home.ts';
import { type Home, temporaryHome } from '../../support/home.ts';
import { BINARY, canRun, notTested } from '../../support/program.ts';
import { seedFixes } from '../../support/seed.ts';
import { RULE, seedSuggestion } from '../../support/suggestions.ts';
import { startOnTerminal } from '../../support/terminal.ts';
import { callHere, printed } from '../call.ts';
import { newShelf } from '../subagents/shelf.ts';

/** Shells as a person has them without settings of their own, on a terminal; the program is on the PATH. */

const INTERACTIVE: Readonly<Record<string, { readonly command: string[]; readonly before: string }>> = {
  bash: { command: ['bash', '--norc', '--noprofile', '-i'], before: '' },
  zsh: { command: ['zsh', '-f', '-i'], before: 'autoload -Uz compinit && compinit -D && ' },
  fish: { command: ['fish', '--no-config', '-i'], before: '' },
};

/** A home with the program on the PATH, and errors in `app` whose texts a shell must not evaluate. */
function homeOf(shellsHome: Home) {
  const { path, paths } = shellsHome;
  mkdirSync(`${path}/bin`);
  mkdirSync(`${path}/app`);
  symlinkSync(BINARY, `${path}/bin/self-generation`);
  const texts = [
    `$(touch ${path}/owned)`,
    `\`touch ${path}/owned\``,
    `'; touch ${path}/owned; '`,
    '%F{red}$((1))%n',
  ];
  const fix = { resolution: 'use the other one', resolvedBy: 'user', projectPath: `${path}/app` };
  seedFixes(
    paths,
    texts.map((error) => ({ error, said: error, ...fix })),
  );
  const env = { HOME: path, PATH: `${path}/bin:${process.env.PATH}`, LANG: 'C.UTF-8' };
  return { cwd: `${path}/app`, env };
}

for (const { name, setUp } of SHELLS) {
  const shell = INTERACTIVE[name];
  if (shell === undefined || !canRun([name, '-c', 'true'])) {
    test(`the completions of ${name}`, () => void notTested(`completions in ${name}`, `there is no ${name}`));
    continue;
  }
  describe(`in ${name}, on a terminal, the Tab key`, () => {
    test('completes commands, options, values and ids, and evaluates none of their texts', async () => {
      using home = temporaryHome();
      const { env, cwd } = homeOf(home);
      await using terminal = startOnTerminal(shell.command, { cwd, env });
      const typing = async (text: string, shown: RegExp) => {
        const from = terminal.shown().length;
        terminal.type(text);
        await until(`${name} shows ${shown} after ${JSON.stringify(text)}`, () =>
          shown.test(terminal.shown().slice(from)),
        );
      };
      const newLine = '\u0015';
      await typing(`${shell.before}${setUp}; echo re""ady\n`, /^ready/m);
      await typing('self-generation err\t', /errors/);
      await typing(`${newLine}self-generation errors sh\t\t`, /share/);
      await typing(`${newLine}self-generation doctor --li\t`, /--live/);
      await typing(`${newLine}self-generation install --hooks=per\t`, /--hooks=per-call/);
      await typing(`${newLine}self-generation config set subagentContext.ex\t`, /excludeAgents/);
      await typing(`${newLine}self-generation errors show \t\t`, /\b1\b[\s\S]*\b4\b/);
      await typing(`${newLine}echo do""ne\n`, /^done/m);
      expect(existsSync(`${home.path}/owned`)).toBe(false);
    }, 60_000);

    test('offers files where one is meant', async () => {
      using home = temporaryHome();
      const { env, cwd } = homeOf(home);
      home.put('app/answer-of-mine.json', '{}');
      await using terminal = startOnTerminal(shell.command, { cwd, env });
      terminal.type(`${shell.before}${setUp}; echo re""ady\n`);
      await until('it is set up', () => /^ready/m.test(terminal.shown()));
      terminal.type('self-generation analyze --answer answ\t');
      await until('the file is shown', () => terminal.shown().includes('answer-of-mine.json'));
    }, 60_000);
  });
}

test('a script that evaluates a text of the log would be found out', () => {
  using home = temporaryHome();
  const { env, cwd } = homeOf(home);
  const [{ script } = { script: '' }] = SHELLS.filter(({ name }) => name === 'bash');
  const isEvaluated = (text: string) => {
    const asking = `COMP_WORDS=(self-generation errors show ''); COMP_CWORD=3; _self_generation; echo \${COMPREPLY[@]}`;
    const { stdout } = Bun.spawnSync(['bash', '-c', `${text}\n${asking}`], { cwd, env, stderr: 'ignore' });
    expect(stdout.toString()).toBe('4 3 2 1\n');
    return existsSync(`${home.path}/owned`);
  };
  expect(isEvaluated(script)).toBe(false);
  const evaluating = script.replace('[[ -z $line ]] ||', `eval : "\${line#*$'\\t'}"; [[ -z $line ]] ||`);
  expect(isEvaluated(evaluating)).toBe(true);
});

describe('complete', () => {
  const complete = (home: Home, words: string[], cwd = `${home.path}/app`) =>
    Bun.spawn([BINARY, 'complete', '--', ...words], { cwd, env: { HOME: home.path }, stderr: 'pipe' });
  async function answer(home: Home, words: string[], cwd?: string) {
    const child = complete(home, words, cwd);
    const [stdout, stderr] = await Promise.all([
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return { code: await child.exited, lines: stdout.split('\n').slice(0, -1), stderr };
  }
  const valuesOf = async (home: Home, words: string[]) =>
    (await answer(home, words)).lines.map((line) => line.split('\t')[0]);

  test('knows ids of this project, settings and what they may be', async () => {
    using home = temporaryHome();
    homeOf(home);
    const { id } = seedSuggestion(home, RULE, { project: 'app', projectPath: `${home.path}/app` });
    expect(await valuesOf(home, ['errors', 'show', ''])).toEqual(['4', '3', '2', '1']);
    expect((await valuesOf(home, ['lessons', 'pin', ''])).toSorted()).toEqual(['1', '2', '3', '4']);
    expect(await valuesOf(home, ['apply', ''])).toEqual([id]);
    expect(await valuesOf(home, ['undo', ''])).not.toContain(id);
    expect(await valuesOf(home, ['config', 'set', 'language', ''])).toEqual(['ko', 'en']);
    expect(await valuesOf(home, ['config', 'set', 'enabled', ''])).toEqual(['true', 'false']);
    expect(await valuesOf(home, ['config', 'get', 'retention'])).toEqual(['retentionDays']);
    expect(await valuesOf(home, ['errors', '--project', 'a'])).toContain('all');
  });

  test('knows the runs of this project by their numbers', async () => {
    using shelf = newShelf();
    shelf.queue({ label: 'lint' });
    shelf.queue({ label: 'docs' });
    const { lines } = await answer(shelf.home, ['subagents', 'info', ''], shelf.project);
    expect(lines).toEqual(['2\tqueued · docs', '1\tqueued · lint']);
    expect((await answer(shelf.home, ['subagents', 'log', ''], shelf.project)).lines).toEqual(lines);
    expect((await answer(shelf.home, ['subagents', 'info', ''], shelf.home.path)).lines).not.toEqual(lines);
  });

  test('prints one line for a value, without control characters', async () => {
    using home = temporaryHome();
    homeOf(home);
    seedFixes(home.paths, [
      { error: 'x\ty\n\u001b[31mred\u0007', resolution: 'z', projectPath: `${home.path}/app` },
    ]);
    const { lines } = await answer(home, ['errors', 'show', '']);
    expect(lines).toHaveLength(5);
    for (const line of lines) expect(line).toMatch(/^\d+\t[^\t\p{Cc}]+$/u);
  });

  test('says nothing and does not fail where there is no home, no database, or one that is none', async () => {
    using home = temporaryHome();
    mkdirSync(`${home.path}/app`);
    const nothing = { code: 0, lines: [], stderr: '' };
    expect(await answer(home, ['subagents', 'stop', '3'])).toEqual(nothing);
    expect(existsSync(`${home.path}/.self-generation`)).toBe(false);
    home.put('.self-generation/data/self-gen.db', 'no database');
    home.put('.self-generation/data/runs.db', 'no database');
    expect(await answer(home, ['errors', 'show', '1'])).toEqual(nothing);
    expect(await answer(home, ['subagents', 'stop', '3'])).toEqual(nothing);
  });
});

describe('completions', () => {
  test('prints the script of each shell, also as JSON, and how it is set up', async () => {
    const help = printed(await callHere(completionsCommand, ['--help']));
    for (const { name, setUp, place, script } of SHELLS) {
      expect(printed(await callHere(completionsCommand, [name]))).toBe(script);
      expect(JSON.parse(printed(await callHere(completionsCommand, [name, '--json'])))).toEqual({
        shell: name,
        setUp,
        place,
        script,
      });
      expect(help).toContain(setUp);
    }
  });

  test('refuses another shell, and none', async () => {
    expect((await callHere(completionsCommand, ['tcsh'])).code).toBe(2);
    expect((await callHere(completionsCommand, [])).code).toBe(2);
  });
});
