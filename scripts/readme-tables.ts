/** Writes the table of settings in README.md from the settings' own rows: `npm run docs`. */
import { CONFIG_FIELDS } from '../src/settings/all-settings.ts';

const HEAD = '| setting | default | meaning | what it may be |\n|---|---|---|---|\n';

/** The document with the rows of its table of settings as they are now. */
export function withSettings(markdown: string): string {
  const [before, rest, more] = markdown.split(HEAD);
  if (before === undefined || rest === undefined || more !== undefined)
    throw new Error(`There has to be one table of settings, headed\n${HEAD}`);
  const rows = CONFIG_FIELDS.map(
    ({ key, default: standard, description, expected }) =>
      `| \`${key}\` | \`${JSON.stringify(standard)}\` | ${description} | ${expected} |\n`,
  );
  return before + HEAD + rows.join('') + rest.slice(rest.indexOf('\n\n') + 1);
}

if (import.meta.main) {
  const readme = Bun.file(new URL('../README.md', import.meta.url));
  await readme.write(withSettings(await readme.text()));
}
