import { isRecord } from '../core/guards.ts';
import { type Check, type CheckWorld, failed, ok, warning } from './check.ts';
import { readText } from './file-plan.ts';
import { knownManifest, type McpRecord } from './manifest.ts';
import { CLIENT_TITLES, type McpOwner, mcpFile } from './mcp-clients.ts';
import { titlesOf } from './mcp-registration.ts';
import { locate } from './place.ts';
import { COMMANDS, commandText, isCommand } from './slash-command.ts';

const NAME = 'MCP server';
const ANSWER_WITHIN_MS = 10_000;
/** What a client says first. */
const HELLO = `${JSON.stringify({
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: {
    protocolVersion: '2025-06-18',
    capabilities: {},
    clientInfo: { name: 'self-generation-doctor', version: '1' },
  },
})}\n`;

/** Whether each client that the server was registered with still has it, and whether it answers; nothing without one. */
export async function checkMcp(world: CheckWorld): Promise<Check[]> {
  const { paths, env, platform } = world;
  const records = knownManifest(paths.manifest)?.mcp ?? [];
  const place = locate(env, platform);
  if (records.length === 0 || place.kind === 'failed') return []; // The check of the hooks says why there is no place.
  const owner = { place, env, platform, binaryBefore: undefined };
  const checks = records.flatMap((record) => checkRecord(record, owner, world.install));
  const answer = await checkAnswer(world);
  if (answer !== undefined) return [...checks, answer];
  if (checks.length > 0) return checks;
  const clients = records.flatMap(({ client }) => (isCommand(client) ? [] : [client]));
  return [ok(NAME, `answers, and is registered with ${titlesOf(clients)}`)];
}

function checkRecord({ client, path }: McpRecord, owner: McpOwner, install: string): Check[] {
  const text = readText(path);
  if (isCommand(client)) {
    const detail = text === undefined ? `${path} is gone` : `${path} is not as this version would write it`;
    return text === commandText(COMMANDS[client])
      ? []
      : [warning(NAME, detail, `Run: ${install} --mcp claude`)];
  }
  const remedy = `Run: ${install} --mcp ${client}`;
  const title = CLIENT_TITLES[client];
  const file = mcpFile(client, owner, path);
  const entry = text === undefined ? undefined : file.read(text);
  if (entry === undefined) return [warning(NAME, `${title} does not have it: it is not in ${path}`, remedy)];
  if (!file.isOurs(entry)) {
    const detail = `in ${path}, "self-generation" is a server of another program`;
    return [warning(NAME, detail, `Rename or remove it there, then run: ${install} --mcp ${client}`)];
  }
  const heldBack = isRecord(entry) ? file.heldBack(entry) : [];
  if (heldBack.length > 0) {
    const detail = `${title} does not hand ${heldBack.join(', ')} on to it, from which a provider takes its key`;
    return [warning(NAME, detail, remedy)];
  }
  if (text !== undefined && file.set(text, () => false).kind === 'edited') {
    return [warning(NAME, `${path} is not as this version would write it`, remedy)];
  }
  return [];
}

/** What is wrong with the server itself; undefined when it answers and ends with its input. */
async function checkAnswer({ paths, env, run, install }: CheckWorld): Promise<Check | undefined> {
  const end = await run(paths.binary, ['mcp'], {
    cwd: paths.home,
    env,
    stdin: HELLO,
    timeoutMs: ANSWER_WITHIN_MS,
  });
  if (end.kind === 'exited' && end.code === 0 && end.stdout.includes('"serverInfo"')) return undefined;
  const reason = end.kind === 'exited' ? `it ended with ${end.code}` : 'it could not be run to its end';
  return failed(NAME, `${paths.binary} mcp does not answer: ${reason}`, `Run: ${install} --mcp`);
}
