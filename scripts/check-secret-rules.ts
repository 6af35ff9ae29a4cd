/**
 * Which rules of a scanner ours do not meet yet: draws made-up secrets of each rule and prints those that redaction leaves.
 * What it names is to be added to src/core/secret-rules.ts, by hand: a prefix is a fact, an expression is somebody's work.
 *
 *   bun scripts/check-secret-rules.ts gitleaks.toml     config/gitleaks.toml of github.com/gitleaks/gitleaks (MIT)
 *
 * Exits with 1 when more than one of a hundred secrets is left.
 */
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { redactSecrets } from '../src/core/redact.ts';

const DRAWN_OF_EACH = 5;
const LEFT_MAX = 0.01;

type Rule = { readonly id: string; readonly regex?: string };

/** What a rule describes, near enough to draw from: a token, or a value behind the name of a product. */
function drawn(regex: string): fc.Arbitrary<string> {
  const named = /^\S{0,60}?\(\?:(?:\(\?-i:)?([\w.-]+)\S*?\{0,5\}\((.+?)\)\(\?:\[\\x60/.exec(
    regex.replaceAll(' ', '\\x20'),
  );
  if (named === null || !regex.includes(':{1,3}=')) return fc.noBias(fc.stringMatching(expressionOf(regex)));
  const [, product = '', value = ''] = named;
  return fc
    .noBias(fc.stringMatching(expressionOf(value)))
    .map((one) => `${product.toUpperCase()}_KEY=${one}`);
}

/** An expression of Go in JavaScript. */
function expressionOf(regex: string): RegExp {
  const source = regex
    .replace(/\(\?-?[a-z]+\)/g, '')
    .replace(/\(\?-?[a-z]+:/g, '(?:')
    .replace(/\(\?:\[\\x60.*$|\\B|\\b|\\z/g, '')
    .replace(/\{(\d+),\}/g, (_all, least: string) => `{${least},${Number(least) + 40}}`);
  return new RegExp(`^(?:${source})$`);
}

/** The longest run without blanks and quotes: what there is to hide. */
function secretIn(text: string): string {
  const runs = text.split(/[\s'"`;,=]+/).sort((left, right) => right.length - left.length);
  return runs[0] ?? text;
}

function leftOf({ id, regex = '' }: Rule): string[] {
  try {
    const texts = fc.sample(drawn(regex), DRAWN_OF_EACH);
    return texts.filter((text) => redactSecrets(text).includes(secretIn(text)));
  } catch (error) {
    console.log(`${id}: cannot be drawn from: ${error instanceof Error ? error.message : error}`);
    return [];
  }
}

const [path] = process.argv.slice(2);
if (path === undefined) throw new Error('Cannot check the rules: no file is named');
const { rules } = Bun.TOML.parse(readFileSync(path, 'utf8')) as { rules: Rule[] };
let left = 0;
for (const rule of rules) {
  const shown = leftOf(rule);
  left += shown.length;
  if (shown.length > 0)
    console.log(`${rule.id}: ${shown.length} of ${DRAWN_OF_EACH}, ${JSON.stringify(shown[0])}`);
}
console.log(`${left} of ${rules.length * DRAWN_OF_EACH} are left`);
process.exitCode = left > rules.length * DRAWN_OF_EACH * LEFT_MAX ? 1 : 0;
