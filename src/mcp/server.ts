import { randomUUID } from 'node:crypto';
import { Server } from '@modelcontextprotocol/sdk/server/index.js';
import {
  CallToolRequestSchema,
  type CallToolResult,
  ErrorCode,
  ListToolsRequestSchema,
  McpError,
} from '@modelcontextprotocol/sdk/types.js';
import { clientConnecting } from '../clients/clients.ts';
import { isRecord, readString, reasonOf } from '../core/guards.ts';
import { VERSION } from '../core/state-paths.ts';
import {
  acknowledgeDelivery,
  endedSessions,
  enterServer,
  holdTurns,
  takeDelivery,
} from '../runs/delivery/deliver.ts';
import { agentOfKey, type Requester, type TurnName } from '../runs/model/run.ts';
import { reconcileAndArchive } from '../runs/reconcile.ts';
import { planAround, refuseInside, requesterHere, requesterOf } from '../runs/requester.ts';
import { agentsFor } from '../runs/spawn.ts';
import { isInsideRun, type RunsWorld } from '../runs/world.ts';
import { type Answer, errorResult, RefusedCall, type ToolCall, valueResult } from './answer.ts';
import { describeTools, INSTRUCTIONS, KNOWLEDGE_INSTRUCTIONS, KNOWLEDGE_TOOLS, toolsFor } from './tools.ts';

/** Two clients cut an answer that is much longer than this. */
const PARCEL_LENGTH_MAX = 12_000;
/** News go with an answer that leaves them room: clients cut what is long, and what is cut would count as read. */
const ANSWER_LENGTH_WITH_NEWS_MAX = 8000;
/** The one tool of a plan run. */
const EXPLORE = 'explore';
/** Some clients take each such message as a reason to wait longer; none needs them often. */
const PROGRESS_EVERY_MS = 5000;

type Connection = ReturnType<typeof newConnection>;

/**
 * One client's connection: for whom it asks, and what it has been handed. `clientName`: as it calls itself.
 * @throws Error when nobody can tell for which project it asks.
 */
function newConnection(world: RunsWorld, clientName: string | undefined) {
  const client = clientConnecting(clientName);
  const id = randomUUID();
  const session = world.env[client?.caller.sessionVariable ?? ''] || `mcp-${id}`;
  const plan = planAround(world);
  const requester: Requester =
    plan === undefined
      ? { ...requesterHere(world), client: client?.name ?? null, session }
      : requesterOf(plan);
  let isEntered = false;
  let parcels = 0;
  /** The owners of deliveries that are not acknowledged yet. */
  const onTheWay: string[] = [];
  /** An owner for each delivery: a concurrent call does not acknowledge it. */
  const newOwner = () => `mcp:${process.pid}:${id}:${++parcels}`;
  return {
    requester,
    /** The client asks again, so it has had the earlier answers. */
    acknowledge: () => {
      for (const owner of onTheWay.splice(0)) acknowledgeDelivery(requester.key, owner, world);
    },
    /** The answer with what waits for this requester; the next call says that it arrived. */
    withNews: (answer: Answer): CallToolResult => {
      try {
        if (!isEntered) isEntered = enterServer(requester, world);
        const owner = newOwner();
        const ended = endedSessions(requester, world);
        const reader = { owner, isPerson: false, ended, lengthMax: PARCEL_LENGTH_MAX };
        const delivery = takeDelivery(requester, reader, world);
        if (delivery !== undefined) onTheWay.push(owner);
        return valueResult(answer, delivery?.text);
      } catch (error) {
        complain('look for news', error); // The call itself has succeeded.
        return valueResult(answer, undefined);
      }
    },
    /** The reply of this turn goes with an answer: it is told once more only if that does not arrive. */
    holdTurn: (turn: TurnName) => {
      try {
        const owner = newOwner();
        if (holdTurns([turn], requester, { owner }, world)) onTheWay.push(owner);
      } catch (error) {
        complain('note that a reply was given', error); // Then it is told once more.
      }
    },
  };
}

/**
 * The server of one connection, not yet connected. A sub-agent is told of no tool, and refused what it
 * calls; a plan run has `explore` alone. `gone`: the
 * client has gone, so that nobody waits for an answer any more; `calls`: holds every call until it is answered;
 * `hasRuns`: false for the server that has known errors alone, and nothing to do with background runs.
 */
export function newServer(
  world: RunsWorld,
  { gone, calls, hasRuns }: { gone: AbortSignal; calls: Set<Promise<unknown>>; hasRuns: boolean },
): Server {
  const isInside = isInsideRun(world); // It stays so when the processes above have gone.
  const instructions = hasRuns ? INSTRUCTIONS : KNOWLEDGE_INSTRUCTIONS;
  const tools = (agentIds: readonly string[]) => (hasRuns ? toolsFor(agentIds) : KNOWLEDGE_TOOLS);
  const server = new Server(
    { name: 'self-generation', version: VERSION },
    { capabilities: { tools: {} }, ...(isInside ? {} : { instructions }) },
  );
  /** What a plan run may use. */
  const isLetThrough = (tool: string) => tool === EXPLORE && planAround(world) !== undefined;
  server.onerror = (error) => complain('understand the client', error);
  let connection: Connection | undefined;
  const connected = () => {
    connection ??= newConnection(world, server.getClientVersion()?.name);
    return connection;
  };
  server.setRequestHandler(ListToolsRequestSchema, () => {
    if (isInside) return { tools: describeTools(tools([])).filter(({ name }) => isLetThrough(name)) };
    const { agents } = agentsFor(agentOfKey(connected().requester.key), world);
    return { tools: describeTools(tools(agents.map(({ id }) => id))) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given, _meta } }, extra) => {
    const tool = tools([]).find((one) => one.name === name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool "${name}"`);
    if (isInside && !isLetThrough(name)) {
      const { error, status } = refuseInside(name, 'mcp', world);
      return errorResult(new RefusedCall(error, status));
    }
    const token = _meta?.progressToken;
    const pulse = startPulse((progress, message) => {
      if (token === undefined) return;
      const params = { progressToken: token, progress, message };
      extra.sendNotification({ method: 'notifications/progress', params }).catch(() => {}); // Nobody listens any more.
    });
    const asked = {
      world: callersWorld(world, _meta),
      signal: AbortSignal.any([extra.signal, gone]),
      progress: pulse.say,
      hasRuns,
    };
    const result = answerCall((call) => tool.answer(given, call), connected, asked).finally(() => {
      pulse.stop();
      calls.delete(result);
    });
    calls.add(result);
    return result;
  });
  return server;
}

/** Codex names its session in each call, and not in the server's environment as other clients do. */
function callersWorld(world: RunsWorld, meta: unknown): RunsWorld {
  const thread = isRecord(meta) ? readString(meta, 'threadId') : undefined;
  return thread === undefined ? world : { ...world, env: { ...world.env, CODEX_THREAD_ID: thread } };
}

/** The answer of a call, or its error. Never rejects. */
async function answerCall(
  act: (call: ToolCall) => Promise<Answer>,
  connected: () => Connection,
  { hasRuns, ...asked }: Omit<ToolCall, 'requester' | 'holdTurn'> & { readonly hasRuns: boolean },
): Promise<CallToolResult> {
  try {
    const connection = connected();
    const { requester, holdTurn: hold } = connection;
    if (hasRuns) {
      connection.acknowledge();
      reconcileAndArchive(asked.world);
    }
    const answer = await act({ ...asked, requester, holdTurn: hold });
    const hasRoom = hasRuns && JSON.stringify(answer).length <= ANSWER_LENGTH_WITH_NEWS_MAX;
    return hasRoom && !asked.signal.aborted ? connection.withNews(answer) : valueResult(answer, undefined);
  } catch (error) {
    return errorResult(error);
  }
}

/** Sends the last progress message every five seconds, from the first message on. */
function startPulse(send: (count: number, message: string) => void) {
  let words = '';
  let count = 0;
  let timer: NodeJS.Timeout | undefined;
  const beat = () => send(++count, words);
  return {
    say: (message: string) => {
      words = message;
      if (timer !== undefined) return;
      beat();
      timer = setInterval(beat, PROGRESS_EVERY_MS);
    },
    stop: () => clearInterval(timer),
  };
}

/** Standard output belongs to the protocol. */
export function complain(what: string, error: unknown): void {
  process.stderr.write(`error: Cannot ${what}: ${reasonOf(error)}\n`);
}
