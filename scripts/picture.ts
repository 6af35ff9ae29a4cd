/**
 * Writes docs/images/demo-light.svg and demo-dark.svg, the pictures at the top of the README: what the demo's commands
 * printed and what its sub-agent was given, as it really ran.
 *
 *   npm run picture
 */
import { mkdirSync } from 'node:fs';
import { join } from 'node:path';
import { playStory, type Story, wrapped } from './demo.ts';

const FOLDER = join(import.meta.dir, '..', 'docs', 'images');

type Style = 'plain' | 'bold' | 'dim' | 'good' | 'bad' | 'told';
type Line = { readonly text: string; readonly style: Style };
type Panel = { readonly title: string; readonly lines: readonly Line[] };

const PALETTES = {
  light: {
    back: '#ffffff',
    panel: '#f6f8fa',
    edge: '#d0d7de',
    plain: '#1f2328',
    bold: '#1f2328',
    dim: '#59636e',
    good: '#116329',
    bad: '#b3261e',
    told: '#0550ae',
  },
  dark: {
    back: '#0d1117',
    panel: '#161b22',
    edge: '#30363d',
    plain: '#e6edf3',
    bold: '#f0f6fc',
    dim: '#9198a1',
    good: '#56d364',
    bad: '#ff7b72',
    told: '#79c0ff',
  },
} as const;

/** Of the monospaced text, in units of the picture: the width of a character is set, whatever font is there. */
const [CHARACTER, LINE, TITLE, PAD, GAP] = [8.4, 21, 34, 16, 16];
const CAPTION = ['Learned from the session’s transcript,', 'on your machine, without a model.'];
const COLUMNS = 47;

const styled = (text: string, style: Style): Line[] =>
  wrapped(text, COLUMNS).map((line) => ({ text: line, style }));

/** The story in three panels: what happened, and what a sub-agent reads without and with the program. */
export function panelsOf({ calls, task, after }: Story): readonly [Panel, Panel, Panel] {
  const shell = calls.flatMap(({ command, says, exitCode }, index): Line[] => [
    ...(index === 0 ? [] : [{ text: '', style: 'plain' as const }]),
    ...styled(`$ ${command}`, 'bold'),
    ...styled(`${exitCode === 0 ? '✓' : '✗'} ${says}`, exitCode === 0 ? 'good' : 'bad'),
  ]);
  const given = styled(task, 'plain');
  return [
    { title: '1  Earlier, an agent in this project', lines: shell },
    {
      title: '2  A sub-agent starts, without self-generation',
      lines: [...given, { text: '(nothing else)', style: 'dim' }],
    },
    { title: '2  … and with it', lines: [...given, ...after.flatMap((line) => styled(line, 'told'))] },
  ];
}

const escaped = (text: string) =>
  text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');

type Palette = (typeof PALETTES)[keyof typeof PALETTES];
const heightOf = ({ lines }: Panel) => TITLE + PAD + 8 + lines.length * LINE;

function panelSvg({ title, lines }: Panel, x: number, y: number, height: number, palette: Palette): string {
  const width = COLUMNS * CHARACTER + 2 * PAD;
  const text = lines.map(({ text, style }, index) => {
    const indent = text.length - text.trimStart().length;
    const at = `x="${(x + PAD + indent * CHARACTER).toFixed(1)}" y="${y + TITLE + PAD + 8 + index * LINE}"`;
    const length = `textLength="${(text.trimStart().length * CHARACTER).toFixed(1)}" lengthAdjust="spacingAndGlyphs"`;
    const weight = style === 'bold' ? ' font-weight="600"' : '';
    return text === ''
      ? ''
      : `<text ${at} ${length} fill="${palette[style]}"${weight}>${escaped(text.trimStart())}</text>\n`;
  });
  return [
    `<rect x="${x}" y="${y}" width="${width}" height="${height}" rx="8" fill="${palette.panel}" stroke="${palette.edge}"/>\n`,
    `<text x="${x + PAD}" y="${y + 23}" class="title" fill="${palette.plain}">${escaped(title)}</text>\n`,
    `<line x1="${x}" x2="${x + width}" y1="${y + TITLE}" y2="${y + TITLE}" stroke="${palette.edge}"/>\n`,
    ...text,
  ].join('');
}

/** The picture: the first panel on the left, the two others below one another on the right. */
export function picture(panels: readonly [Panel, Panel, Panel], theme: keyof typeof PALETTES): string {
  const palette = PALETTES[theme];
  const [left, without, withIt] = panels;
  const column = COLUMNS * CHARACTER + 2 * PAD;
  const [upper, lower] = [heightOf(without), heightOf(withIt)];
  const height = upper + GAP + lower;
  const captionAt = heightOf(left) + GAP + 2 * LINE;
  const caption = CAPTION.map(
    (text, index) =>
      `<text x="${GAP + column / 2}" y="${captionAt + index * LINE}" text-anchor="middle" class="caption" fill="${palette.dim}">${text}</text>\n`,
  );
  const [right, width] = [column + 2 * GAP, 2 * column + 3 * GAP];
  const described = panels
    .map(({ title, lines }) => `${title}: ${lines.map(({ text }) => text.trim()).join(' ')}`)
    .join('. ');
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height + 2 * GAP}" role="img" aria-labelledby="t d" font-family="ui-monospace, SFMono-Regular, Menlo, Consolas, 'DejaVu Sans Mono', monospace" font-size="14">\n`,
    `<title id="t">What a sub-agent is told, without and with self-generation</title>\n<desc id="d">${escaped(described)}</desc>\n`,
    `<style>text{white-space:pre}.title{font:600 15px system-ui,-apple-system,'Segoe UI',sans-serif}.caption{font:15px system-ui,-apple-system,'Segoe UI',sans-serif}</style>\n`,
    `<rect width="${width}" height="${height + 2 * GAP}" fill="${palette.back}"/>\n`,
    panelSvg(left, GAP, GAP, heightOf(left), palette),
    ...caption,
    panelSvg(without, right, GAP, upper, palette),
    panelSvg(withIt, right, GAP + upper + GAP, height - upper - GAP, palette),
    '</svg>\n',
  ].join('');
}

if (import.meta.main) {
  const panels = panelsOf(playStory());
  mkdirSync(FOLDER, { recursive: true });
  for (const theme of ['light', 'dark'] as const)
    await Bun.write(join(FOLDER, `demo-${theme}.svg`), picture(panels, theme));
}
