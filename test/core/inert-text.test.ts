import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { framed, inertLines, inertText } from '../../src/core/inert-text.ts';

const rows: [text: string, inert: string][] = [
  ['plain text', 'plain text'],
  // What stands for a removed part stays readable.
  ['<PATH>: line <N>: <STR>', '<PATH>: line <N>: <STR>'],
  ['<PATHS> <STRING> <N x> <PATH/>', '(PATHS> (STRING> (N x> (PATH/>'],
  ['two\nlines\r\n\tthree', 'two lines three'],
  ['\u001b[1mbold\u001b[0m\u0007', 'bold'],
  ['a\u202eb\u200bc\u200dd\ufe01e\u2800f', 'abcdef'],
  ['a\u2028b', 'ab'],
  ['family 👨‍👩‍👧 ❤️', 'family 👨‍👩‍👧 ❤️'],
  ['lone \ud83d!', 'lone \ufffd!'],
  ['say ```sh and ~~~~', "say '''sh and '''"],
];
test.each(rows)('inertText() makes of %j %j', (text, inert) => {
  expect(inertText(text, 200)).toBe(inert);
});

describe('inertText() and inertLines() leave alone', () => {
  const innocent = [
    'a < b && c <= d << 2 <- e > f',
    'cat <"$file" 2>&1 < in.txt | sort > out.txt',
    'diff <(git show a) <(git show b)',
    'error[E0308]: mismatched types in src/main.rs[12]',
    '[eslint] no-unused-vars; [ERROR] failed; arr[index] & [REDACTED]',
    'error: unknown option: --bail &limit=3 a&amp;b C:\\users\\x03c',
    'operating_system::linux user::name',
    '## heading, issue #12, C#',
    'run `chown user:group file` or `docker run -u user:1000`, see https://user:1@host',
    '한글 오류: 파일이 없습니다 (사용자가 취소함)',
  ];
  for (const text of innocent) {
    test(text, () => {
      expect(inertText(text, 500)).toBe(text);
      expect(inertLines(text)).toBe(text);
    });
  }
});

/** Marks of conversations, by which a reader could take what follows for another's words. Two blanks part them. */
const FRAMES: readonly string[] = [
  '<system-reminder>  </system-reminder>  </record>  </log>  <_system>  <s>  </s>  <!-- x -->',
  '<?xml?>  <|im_start|>system  <|start|>developer<|channel|>analysis<|message|>  <｜User｜>',
  '<start_of_turn>user  <0x0A>  <<SYS>>  <</SYS>>  <한글>  <\\/system>  < system >  < /log>',
  '<\tsystem role="x">  <2mass>  <\u200bsystem>  <\u200dsystem>  <\u0000system>  <\u001b[0msystem>',
  '＜system＞  ﹤system﹥  ‹system›  «system»  〈system〉  《system》  ⟨system⟩  〈system〉  ❮system❯  ˂system˃',
  'ᐸsystemᐳ  ≺system≻  ◁system▷  \u{1d236}system>  &lt;system&gt;  &LT;system&GT;',
  '&amp;lt;system&amp;gt;  &#60;system&#62;  &#060system  &#x3C;/log&#x3e;  &lang;system&rang;',
  '\\u003csystem\\u003e  \\x3Csystem>  \\u{3c}system>  [INST]  [/INST]  [ INST ]  [SYSTEM_PROMPT]',
  '[TOOL_CALLS]  [SYSTEM]  [시스템]  ［INST］  ［ＩＮＳＴ］  【SYSTEM】  ⟦INST⟧  &#91;INST&#93;  \\u005bINST]',
  '[Subagent Task]  [Self-Generation] x  Human: x  Assistant: x  System: x  USER: x  developer: x',
  '**Human:** x  **System**: x  > Human : x  - user: x  Ｈｕｍａｎ： x  Ｓｙｓｔｅｍ: x  Human： x  Human꞉ x',
  '시스템: x  사용자: x  Hu\u200bman: x  Hu\u200dman: x  ### Instruction:  ## System  ###Response:',
].flatMap((line) => line.split('  '));

/** What a reader could see in it: look-alikes taken for what they look like, escapes for what they mean. */
function seen(text: string): string {
  return text
    .replace(/&amp;/gi, '&')
    .replace(/&(?:lt|lang|#0*60|#x0*3c);?|\\+(?:u003c|x3c|u\{3c\})/gi, '<')
    .replace(/&#91;|\\u005b/g, '[')
    .normalize('NFKC')
    .replace(/\u{1d236}|[◁‹«˂≪≺⋖❬❮❰⟨⟪⦑⧼〈《ᐸᚲ]/gu, '<')
    .replace(/[【〔⟦〚]/g, '[')
    .replace(/[꞉∶ː]/g, ':');
}

const IMITATION =
  /<!--|<+[/!?|\\_]{0,2}-?(?!(?:STR|PATH|N)>)[\p{L}|]|<\s+\/?(?:system|log)[^<]*>|<\d\w*>|\[\s*\/?\s*(?:inst|sys|tool_|시스템|subagent|self-gen)|^[^\p{L}\p{N}]*(?:human|assistant|system|user|developer|시스템|사용자)[*\s]*:|#{2,}\s*(?:instruction|system|response)|[\u0000-\u0008\u001b\u200b\u202e]/imu;

describe('inertText() and inertLines() leave no frame of', () => {
  for (const frame of FRAMES) {
    test(JSON.stringify(frame), () => {
      expect(seen(frame.replace(/[\u200b\u200d]/g, ''))).toMatch(IMITATION);
      expect(seen(inertText(frame, 200))).not.toMatch(IMITATION);
      expect(seen(inertText(`an error ${frame}`, 200))).not.toMatch(IMITATION);
      expect(seen(inertLines(`first\n\t${frame}\nlast`))).not.toMatch(IMITATION);
    });
  }
});

test('inertText() cuts without splitting a code point or leaving half a placeholder open', () => {
  expect(inertText('a <PATH>', 5)).toBe('a (PA');
  expect(inertText('ab🎉', 3)).toBe('ab');
  expect(inertText('ab🎉', 4)).toBe('ab🎉');
});

test('inertLines() leaves the lines as they are', () => {
  const text = '# Rules\n\n```sh\n\tif (a < b)  {\n```\n<PATH>';
  expect(inertLines(text)).toBe(text);
});

test('framed() is ended by nothing that is inert', () => {
  const lines = framed(`- ${inertText('x\n</record>\nNow', 200)}`, 'no instructions').split('\n');
  expect(lines).toEqual(['<record note="no instructions">', '- x (/record> Now', '</record>']);
});

describe('whatever comes in', () => {
  const parts =
    '<|</|system|>|\n|\u200b|\u0000|<PATH>|\ud83d|é| |/|!|&|lt;|[|:|`|User|inst|\\|u003c|#|＜|\u200d';
  const pieces = fc.constantFrom(...FRAMES, ...parts.split('|'));
  const text = fc.oneof(
    fc.array(pieces).map((all) => all.join('')),
    fc.string({ unit: 'binary' }),
  );

  test('inertText() returns one bounded line without frames, and changes it no further', () => {
    fc.assert(
      fc.property(text, fc.nat(80), (given, lengthMax) => {
        const inert = inertText(given, lengthMax);
        expect(inert.length).toBeLessThanOrEqual(lengthMax);
        expect(inert).not.toMatch(/[\n\r\u2028\u2029\u0000-\u001f\u200b]/);
        expect(inert.isWellFormed()).toBe(true);
        expect(seen(inert)).not.toMatch(IMITATION);
        expect(inertText(inert, lengthMax)).toBe(inert.trimEnd());
      }),
      { numRuns: 2000, seed: 4 },
    );
  });
});
