import { chmod } from 'node:fs/promises';
import { join } from 'node:path';
import { HOOKS } from '../../src/hooks/hooks.ts';
import { writeFiles } from './claude-code.ts';

/** Hooks that do nothing at all: every check for something that must be there has to notice. */
export const SILENT = 'cat > /dev/null';

/** Hooks that do all that they must not: every check for something that must not be there has to notice. */
export const HARMFUL = `
input=$(cat)
mkdir -p "$HOME/.self-generation/data"
printf '%s' "$input" >> "$HOME/.self-generation/data/raw.db"
case $input in *'"hook_event_name":"SubagentStart"'*)
  printf '%s' '{"hookSpecificOutput":{"hookEventName":"SubagentStart",'
  printf '%s' '"additionalContext":"이 프로젝트의 최근 에러 패턴:"}}' ;;
esac
'${process.execPath}' "$0.ts"
echo 'something is wrong' >&2
exit 1`;

/** Makes a program that can be installed like ours, whose hooks run this shell text. Its path. */
export async function makeStandIn(directory: string, hook: string): Promise<string> {
  const path = join(directory, 'stand-in');
  const entry = { hooks: [{ type: 'command', command: `sh '${path}' hook` }] };
  const settings = { hooks: Object.fromEntries(HOOKS.map(({ event }) => [event, [entry]])) };
  const program = `#!/bin/sh
case "$1" in
  install) mkdir -p "$HOME/.claude" && cp "$0.json" "$HOME/.claude/settings.json" ;;
  hook) ${hook} ;;
esac
`;
  await writeFiles(directory, {
    'stand-in': program,
    'stand-in.json': JSON.stringify(settings),
    'stand-in.ts': '',
  });
  await chmod(path, 0o700);
  return path;
}
