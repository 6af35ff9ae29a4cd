import type { ConfigField } from '../../src/settings/all-settings.ts';
import { inCell } from './commands-page.ts';

const INTRODUCTION = `# Settings

<!-- Written by "npm run docs" from the settings' own rows. -->

They stand in \`~/.self-generation/config.json\`, as JSON or JSON5 (with comments and names without quotes). A dot in a name leads
into an object: \`lessons.model\` is \`{ "lessons": { "model": "daily" } }\`. What is not there has its default, and so has a
value that is none of those listed; \`self-generation doctor\` says which. Only a background run is refused where what
it may do or cost cannot be read for certain.

\`\`\`sh
self-generation config                      # all of them, as they are
self-generation config get language
self-generation config set language en
self-generation config unset language       # back to the default
\`\`\`

\`config set\` takes JSON, or plain text where a text is expected. It keeps what it does not know, and does not change a file
that is JSON5, whose comments would be lost: edit that by hand. A change counts from the next hook or command on. Only you
change settings: a coding agent that calls \`config set\` is refused.
`;

/** docs/settings.md: a table for each section, and first one for those that are in none. */
export function settingsPage(fields: readonly ConfigField[]): string {
  const sections = Map.groupBy(fields, ({ key }) =>
    key.includes('.') ? key.slice(0, key.indexOf('.')) : '',
  );
  const own = sections.get('') ?? [];
  const others = [...sections].filter(([name]) => name !== '');
  const parts = [['General', own] as const, ...others.map(([name, rows]) => [`\`${name}\``, rows] as const)];
  return `${[INTRODUCTION.trim(), ...parts.map(([name, rows]) => `## ${name}\n\n${tableOf(rows)}`)].join('\n\n')}\n`;
}

function tableOf(rows: readonly ConfigField[]): string {
  const lines = rows.map(
    ({ key, default: standard, description, expected }) =>
      `| \`${key}\` | \`${JSON.stringify(standard).replaceAll('|', '\\|')}\` | ${inCell(description)} | ${inCell(expected)} |`,
  );
  return ['| setting | default | meaning | what it may be |', '|---|---|---|---|', ...lines].join('\n');
}
