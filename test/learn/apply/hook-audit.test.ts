import { describe, expect, test } from 'bun:test';
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { auditHookCode, HOOK_CODE_BYTES_MAX, passesAudit } from '../../../src/learn/apply/hook-audit.ts';

/** What keeps this code from running, each as `line reason`. */
function forbiddenIn(code: string): string[] {
  return auditHookCode(code)
    .filter(({ kind }) => kind === 'forbidden')
    .map(({ line, reason }) => `${line} ${reason}`);
}

const HOOK = `#!/usr/bin/env node
// Never eval() anything here; see child_process for why.
import fs, { readFileSync } from 'node:fs';
import { join, basename } from 'node:path';
import process from 'node:process';
import * as os from 'node:os';

/* fetch and WebSocket are only named in this comment. */
const input = JSON.parse(readFileSync(0, 'utf8'));
const file = input.tool_input?.file_path ?? '';
const seen = {};
for (const [index, part] of file.split('/').entries()) seen[part] = (seen[part] ?? 0) + index / 2;
const share = (file.length + 1) / (seen.length || 1) / 2; // a quarter
if (/eval|\\/generated\\/['"\`]/.test(file) && !Object.prototype.hasOwnProperty.call(seen, 'x')) {
  const text = \`\${basename(file)} is generated: run \${['make', 'gen'].join(' ')}, not eval\`;
  process.stdout.write(JSON.stringify({ hookSpecificOutput: { hookEventName: 'PostToolUse', additionalContext: text } }));
}
class Counter {
  #count = 0;
  constructor(start) { this.#count = start; }
  get value() { return this.#count; }
}
if (fs.existsSync(join(os.homedir(), '.quiet')) && new Counter(1).value && process.env.CI) process.exit(0);
`;

// biome-ignore-start lint/suspicious/noTemplateCurlyInString: the code of hooks stands here as text.
describe('auditHookCode() lets pass', () => {
  const rows: [string, string][] = [
    ['an ordinary hook', HOOK],
    ['nothing', ''],
    [
      'asynchronous code',
      "const { readFile } = await import('node:fs/promises'); await readFile('/x', 'utf8');",
    ],
    ['where it stands', 'console.log(import.meta.url, import.meta.dirname);'],
    ['fields of the event', 'console.log(input.module, input.global, input.process.binding_);'],
    ['Korean', "const 이름 = '규칙'; console.log(`${이름}`);"],
    ['named parts of process', "import { stdin, exit as stop } from 'node:process'; stop(0);"],
    ['process and parts of it', "import process, { env, } from 'node:process'; process.exit(env.A);"],
    ['a few escapes', "console.log('\\u2713 \\x1b[32mfine\\x1b[0m');"],
    ['numbers as keys', 'const list = [1, 2]; console.log(list[0], list[list.length - 1], list[0 + 1]);'],
  ];
  for (const [name, code] of rows) test(name, () => expect(forbiddenIn(code)).toEqual([]));

  test('what changes files, but notes it', () => {
    const code = "import fs from 'node:fs';\n\nfs.writeFileSync('/tmp/x', 'a');\nfs.promises.rm('/tmp/x');";
    expect(auditHookCode(code)).toEqual([
      { kind: 'noted', line: 3, reason: 'changes files: writeFileSync' },
      { kind: 'noted', line: 4, reason: 'changes files: rm' },
    ]);
  });
});

describe('auditHookCode() forbids', () => {
  /** The code, the line of the first finding and a part of its reason. */
  const rows: [string, string, number, string][] = [
    ['eval', "\neval('1')", 2, '"eval" makes code'],
    ['indirect eval', "(0, eval)('1')", 1, '"eval"'],
    ['eval under another name', "const run = eval; run('1')", 1, '"eval"'],
    ['eval as a property', "x.eval('1')", 1, '"eval"'],
    ['eval by a text', "x['eval']('1')", 1, 'the text "eval"'],
    ['eval by a text with escapes', "x['\\x65val']('1')", 1, 'the text "eval"'],
    ['eval by a text with Unicode escapes', "x['\\u{65}v\\u0061l']('1')", 1, 'the text "eval"'],
    ['eval by a text over two lines', "x['ev\\\nal']('1')", 1, 'the text "eval"'],
    ['eval by a template', "x[`eval`]('1')", 1, 'the text "eval"'],
    ['eval put together', "x['ev' + 'al']('1')", 1, 'put together'],
    ['eval put together of three', "x[['e', 'val'].join('')]('1')", 1, 'put together'],
    ['eval put together in a template', "const e = 'ev'; x[`${e}al`]('1')", 1, 'put together'],
    ['eval in a template', "`${eval('1')}`", 1, '"eval"'],
    ['eval in a template in a template', "`a${`b${{ c: eval('1') }}`}`", 1, '"eval"'],
    ['a name with escapes', "\\u0065val('1')", 1, 'written with escapes'],
    ['a name with escapes in braces', "ev\\u{61}l('1')", 1, 'written with escapes'],
    ['eval behind a division that looks like an expression', "a = b\n/eval('x')/g", 2, '"eval"'],
    ['eval behind a division after a parenthesis', "(a)\n/eval('x')/g", 2, '"eval"'],
    ['eval behind what may be an expression', "x = {}\n/eval('1')/g", 2, 'may divide'],
    ['eval behind a count', "a++ /eval('1')/ 2", 1, 'may divide'],
    ['eval behind a comment that ends late', "/* // */ eval('1')", 1, '"eval"'],
    ['eval behind a comment that a carriage return ends', "// quiet\reval('1')", 1, '"eval"'],
    ['eval behind a comment that a line separator ends', "// quiet\u2028eval('1')", 1, 'invisible'],
    ['a comment as in HTML', "<!-- `\neval('1')\n<!-- `", 1, 'as in HTML'],
    ['the end of a comment as in HTML', "\n--> `\neval('1') //`", 2, 'as in HTML'],
    ['Function', "new Function('return 1')()", 1, '"Function"'],
    ['the constructor of functions', "(() => 1).constructor('return 1')()", 1, '"constructor"'],
    ['the constructor by taking it apart', 'const { constructor: make } = () => 1;', 1, '"constructor"'],
    ['the constructor by a text', "[]['constructor']['constructor']('1')()", 1, 'the text "constructor"'],
    ['the constructor put together', "[]['con' + 'structor']", 1, 'put together'],
    ['the constructor turned round', "[]['rotcurtsnoc'.split('').reverse().join('')]", 1, 'put together'],
    ['prototypes', 'Object.getPrototypeOf(async () => {})', 1, '"getPrototypeOf"'],
    ['prototypes by property', 'x.__proto__', 1, '"__proto__"'],
    ['Reflect', "Reflect.get(x, 'y')", 1, '"Reflect"'],
    ['globalThis', "globalThis['x']", 1, '"globalThis"'],
    ['global under another name', 'const g = global;', 1, '"global"'],
    ['WebAssembly', 'new WebAssembly.Module(x)', 1, '"WebAssembly"'],
    ['with', 'with (x) {}', 1, '"with"'],
    ['require', "require('node:fs')", 1, '"require"'],
    [
      'import of a program',
      "import { execSync } from 'node:child_process';",
      1,
      'imports "node:child_process"',
    ],
    ['import of a program without a prefix', "import { execSync } from 'child_process';", 1, 'imports'],
    ['import for its effect', "import 'node:http';", 1, 'imports "node:http"'],
    ['import of the net', "import net from 'node:net';", 1, 'imports "node:net"'],
    ['import of names', "import dns from 'node:dns/promises';", 1, 'imports'],
    ['import of workers', "import { Worker as W } from 'node:worker_threads';", 1, '"Worker"'],
    ['import of contexts', "import vm from 'node:vm';", 1, 'imports "node:vm"'],
    ['import of modules', "import m from 'node:module';", 1, 'imports'],
    ['import of a package', "import x from 'left-pad';", 1, 'imports "left-pad"'],
    ['import of a file', "import x from '../x.mjs';", 1, 'imports'],
    ['import of an address', "import x from 'https://example.com/x.mjs';", 1, 'imports'],
    ['import of code as data', "await import('data:text/javascript,1');", 1, 'imports'],
    ['import of Bun', "import { $ } from 'bun';", 1, 'imports "bun"'],
    ['export of another module', "export * from 'node:child_process';", 1, 'imports'],
    ['import() of what is not written there', "const m = 'node:vm'; import(m)", 1, 'not written there'],
    ['import() put together', "import('node:' + 'vm')", 1, 'not written there'],
    ['import() of a template', "const v = 'vm'; import(`node:${v}`)", 1, 'not written there'],
    ['import() with options', "import('node:fs', { with: {} })", 1, 'not written there'],
    ['import() of process', "const p = await import('node:process');", 1, 'node:process'],
    ['import.meta.require', "import.meta.require('fs')", 1, '"import.meta"'],
    ['import.meta as a whole', 'const m = import.meta;', 1, 'import.meta'],
    ['import with a type', "import x from 'node:fs' with { type: 'macro' };", 1, '"with"'],
    ['process as a whole', "const p = process; p['x']", 1, '"process" as a whole'],
    ['process by a text', "process['binding']('x')", 1, '"process" as a whole'],
    ['process.binding', "process.binding('spawn_sync')", 1, '"process.binding"'],
    ['process?.dlopen', 'process?.dlopen(x)', 1, '"process.dlopen"'],
    [
      'process.getBuiltinModule',
      "process.getBuiltinModule('child_process')",
      1,
      '"process.getBuiltinModule"',
    ],
    ['process.mainModule', 'process.mainModule', 1, '"process.mainModule"'],
    ['process.kill', 'process.kill(1)', 1, '"process.kill"'],
    [
      'process.on, whose listener has process',
      "process.on('exit', function () { this.x; })",
      1,
      '"process.on"',
    ],
    ...(
      [
        ['in a namespace', '* as p'],
        ['in a namespace under the name of a part', '* as env'],
        ['in a namespace besides it', 'process, * as env'],
        ['by a part that is not allowed', '{ reallyExit }'],
        ['by a part under the name of another', '{ getgid as env }'],
        ['by default', '{ default as p, exit }'],
        ['by default under the name of a part', '{ default as env }'],
        ['by default under its own name', '{ exit, default as process }'],
        ['by a text', '{ "default" as env }'],
        ['by a text that is the name of a part', '{ "env" as env }'],
        ['by a comment between', '* /* env */ as env'],
      ] as const
    ).map(([name, clause]): [string, string, number, string] => [
      `process ${name}`,
      `\nimport ${clause} from 'node:process';\nenv.x;`,
      2,
      'of node:process loads',
    ]),
    ['process handed on', "export * from 'node:process';", 1, 'of node:process loads'],
    ['a part of process handed on', "export { env } from 'node:process';", 1, 'of node:process loads'],
    ['everything by an event', 'e.currentTarget', 1, 'reaches everything'],
    ['Bun.spawn', "Bun.spawn(['x'])", 1, '"Bun"'],
    ['Bun.$', 'await Bun.$`x`', 1, '"Bun"'],
    ['fetch', "fetch('https://example.com')", 1, '"fetch" uses the network'],
    ['WebSocket', "new WebSocket('ws://x')", 1, '"WebSocket"'],
    ['XMLHttpRequest', 'new XMLHttpRequest()', 1, '"XMLHttpRequest"'],
    ['Worker', "new Worker('x')", 1, '"Worker"'],
    ['atob', "atob('ZXZhbA==')", 1, '"atob"'],
    ['base64', "Buffer.from(x, 'base64')", 1, 'the text "base64"'],
    ['hex', 'Buffer.from(x, "hex")', 1, 'the text "hex"'],
    ['characters by number', 'String.fromCharCode(101)', 1, '"fromCharCode"'],
    ['a long encoded text', `const x = '${'QUJD'.repeat(30)}';`, 1, 'a long text'],
    ['a text in escapes', `const x = '${'\\x41'.repeat(9)}';`, 1, '9 escapes'],
    ['a permission', "console.log({ permissionDecision: 'allow' })", 1, 'decides about'],
    ['a permission by a text', "out['permissionDecision'] = 1", 1, 'decides about'],
    ['a permission in JSON', `console.log('{"permissionDecision":"allow"}')`, 1, 'decides about'],
    ['another input in JSON', 'const out = `{"updatedInput": {}}`;', 1, 'decides about'],
    ['a veto', "console.log({ decision: 'block' })", 1, 'decides about'],
    ['NUL', 'a\0b', 1, 'control or invisible'],
    ['characters that turn the text round', "const a = '\u202e'; // \u2066", 1, 'control or invisible'],
    ['characters of no width', "ev\u200bal('1')", 1, 'control or invisible'],
    ['JavaScript with types', 'const a: number = 1;', 1, 'no valid JavaScript'],
    ['half a program', '\n\nfunction (', 3, 'no valid JavaScript'],
    ['elements', 'const a = <b>c</b>;', 1, ''],
    ['a string that never ends', "const a = 'b", 1, 'never ends'],
    ['a template that never ends', '\n`a${b}', 2, 'never ends'],
  ];
  for (const [name, code, line, reason] of rows) {
    test(name, () => {
      const [first = 'nothing'] = forbiddenIn(code);
      expect(first).toStartWith(`${line} `);
      expect(first).toContain(reason);
    });
  }

  test('code of more than 16 KiB', () => {
    const code = `// ${'한'.repeat(HOOK_CODE_BYTES_MAX / 3)}`;
    expect(forbiddenIn(code)).toEqual([`1 it has ${Buffer.byteLength(code)} bytes, 16384 are the most`]);
    expect(forbiddenIn(`//${' '.repeat(HOOK_CODE_BYTES_MAX - 2)}`)).toEqual([]);
  });

  test('a name as often as it stands there, in order', () => {
    expect(forbiddenIn("fetch('a');\neval('b'); eval('c');\nfetch('d');")).toEqual([
      '1 "fetch" uses the network',
      '2 "eval" makes code out of text',
      '3 "fetch" uses the network',
    ]);
  });
});

describe('auditHookCode()', () => {
  test('runs nothing: a macro would run when the code is printed anew', () => {
    const folder = mkdtempSync(join(tmpdir(), 'audit-'));
    const mark = join(folder, 'ran');
    writeFileSync(
      join(folder, 'macro.ts'),
      `import { writeFileSync } from 'node:fs'; export function m() { writeFileSync(${JSON.stringify(mark)}, ''); return 1; }`,
    );
    for (const attribute of ["with { type: 'macro' }", "assert { type: 'macro' }", '']) {
      const name = attribute === '' ? `macro:${folder}/macro.ts` : `${folder}/macro.ts`;
      const code = `import { m } from '${name}' ${attribute}; console.log(m());`;
      expect(passesAudit(auditHookCode(code))).toBe(false);
    }
    expect(existsSync(mark)).toBe(false);
    rmSync(folder, { recursive: true });
  });

  test('ends on texts of any nesting', () => {
    for (const open of ['(', '[', '{', '`${', 'a=>', '!', 'x?', '/*', '[[', '"', "'", '\\', '<', 'new ']) {
      const code = open.repeat(Math.floor(HOOK_CODE_BYTES_MAX / open.length));
      expect(passesAudit(auditHookCode(code)), open).toBe(false);
    }
  });

  test('never throws, and names a line of the text', () => {
    const piece = fc.oneof(
      fc.string({ unit: 'binary', maxLength: 10 }),
      fc.constantFrom(
        ...'`|${|}|/|//|/*|*/|\'|"|\\|\n|[|]|(|)|eval|import|from|x|+|<!--|process|.'.split('|'),
      ),
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 40 }), (pieces) => {
        const code = pieces.join('');
        const lines = code.split('\n').length;
        for (const { line } of auditHookCode(code)) {
          if (!(line >= 1 && line <= lines)) throw new Error(`line ${line} of ${lines}`);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test('finds a call of eval wherever code may stand', () => {
    const around: [string, string][] = [
      ['', ''],
      ['`${', '}`'],
      ['if (a) /b/.test(', ')'],
      ['(a) / ', ' / 2'],
      ['[', ']'],
      ['({ a: ', ' })'],
      ["/* ' */", ''],
      ["'//'; ", ''],
      ['/[/"]/; ', ''],
      ['a\n++\n', ''],
      ['`\\``;', ''],
      ['x = y / z; ', ' / 1'],
      ['for (const a of [1]) ', ''],
      ['async () => { await ', ' }'],
    ];
    fc.assert(
      fc.property(fc.array(fc.constantFrom(...around), { maxLength: 4 }), (layers) => {
        const code = layers.reduceRight((inner, [before, after]) => before + inner + after, "eval('1')");
        return !passesAudit(auditHookCode(code));
      }),
    );
  });
});
// biome-ignore-end lint/suspicious/noTemplateCurlyInString: as above.
