/** Writes what of the Claude Code plugin follows from the program: `npm run docs`. */
import { COMMANDS, commandText } from '../src/clients/claude/setup.ts';
import { MCP_SERVER_NAME } from '../src/clients/tools.ts';
import { hooksIn } from '../src/hooks/hooks.ts';
import { PLUGIN_NAME, wantedEntry } from '../src/setup/settings-file.ts';

const ROOT = new URL('..', import.meta.url);
/** Claude Code puts the plugin's directory in its place. */
const LAUNCHER = `$${'{CLAUDE_PLUGIN_ROOT}'}/start.sh`;
/** How it names the tools of a plugin's server. */
const TOOLS = `mcp__plugin_${PLUGIN_NAME}_${MCP_SERVER_NAME}__`;

const json = (value: unknown) => `${JSON.stringify(value, null, 2)}\n`;

/** The files by their paths in the repository. `about`: of package.json. */
export function pluginFiles(about: { version: string; description: string; license: string }) {
  const { version, description, license } = about;
  const author = { name: PLUGIN_NAME };
  // Not by way of `sh`: a client that does not know `args` would have that read the event as a script.
  const invocation = { binary: LAUNCHER, form: 'exec', platform: 'linux', knowsAsync: true } as const;
  const groups = hooksIn('session').map((hook) => {
    const entry = wantedEntry(hook, invocation);
    const { event, matcher } = hook;
    const args = ['hook', hook.name, 'plugin'];
    return { event, group: { ...(matcher && { matcher }), hooks: [{ ...entry, args }] } };
  });
  const hooks = Object.fromEntries(
    [...Map.groupBy(groups, ({ event }) => event)].map(([event, of]) => [
      event,
      of.map(({ group }) => group),
    ]),
  );
  const server = { type: 'stdio', command: 'sh', args: [LAUNCHER, 'mcp'], env: {} };
  const plugin = { name: PLUGIN_NAME, description };
  const commands = Object.values(COMMANDS).map((name) => [
    `plugin/commands/${name}.md`,
    commandText(name).replaceAll(`mcp__${MCP_SERVER_NAME}__`, TOOLS),
  ]);
  return {
    '.claude-plugin/marketplace.json': json({
      ...{ name: PLUGIN_NAME, owner: author, metadata: { description } },
      plugins: [{ ...plugin, source: './plugin' }],
    }),
    'plugin/.claude-plugin/plugin.json': json({ ...plugin, version, author, license }),
    'plugin/.mcp.json': json({ mcpServers: { [MCP_SERVER_NAME]: server } }),
    'plugin/hooks/hooks.json': json({ description, hooks }),
    ...Object.fromEntries(commands),
  } as Readonly<Record<string, string>>;
}

if (import.meta.main) {
  const files = pluginFiles(await Bun.file(new URL('package.json', ROOT)).json());
  for (const [path, text] of Object.entries(files)) await Bun.write(new URL(path, ROOT), text);
}
