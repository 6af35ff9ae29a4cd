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
  holdTurn,
  takeDelivery,
} from '../runs/delivery/deliver.ts';
import { agentOfKey, type Requester } from '../runs/model/run.ts';
import { advance } from '../runs/reconcile.ts';
import { agentsFor, refuseInside, requesterHere } from '../runs/requester.ts';
import type { RunsWorld, TurnName } from '../runs/world.ts';
import { type Answer, failed, toolResult } from './answer.ts';
import type { ToolCall } from './run-tool.ts';
import { INSTRUCTIONS, listTools, toolNamed } from './tools.ts';

/** Two clients cut an answer that is much longer than this. */
const PARCEL_LENGTH_MAX = 12_000;

/** One client's connection: for whom it asks, and what it has been handed. */
class Connection {
  readonly world: RunsWorld;
  readonly requester: Requester;
  readonly #id: string = randomUUID();
  #parcels = 0;
  #isEntered = false;
  /** Went out with an answer; nobody has said yet that it arrived. */
  #onTheWay: string[] = [];

  /** `clientName`: as the client calls itself. @throws Error when nobody can tell for which project it asks. */
  constructor(world: RunsWorld, clientName: string | undefined) {
    const client = clientConnecting(clientName);
    this.world = world;
    const own = world.env[client?.caller.sessionVariable ?? ''];
    const session = own || `mcp-${this.#id}`;
    this.requester = { ...requesterHere(world), client: client?.name ?? null, session };
  }

  /** The client asks again, so it has had the earlier answers. */
  acknowledge(): void {
    for (const owner of this.#onTheWay.splice(0)) {
      acknowledgeDelivery(this.requester.key, owner, this.world);
    }
  }

  /** What waits for this requester, in words, to go with an answer; the next call says that it arrived. */
  takeNews(): string | undefined {
    this.#isEntered ||= enterServer(this.requester, this.world);
    const owner = this.#newOwner();
    const ended = endedSessions(this.requester, this.world);
    const reader = { owner, isPerson: false, ended, lengthMax: PARCEL_LENGTH_MAX };
    const delivery = takeDelivery(this.requester, reader, this.world);
    if (delivery !== undefined) this.#onTheWay.push(owner);
    return delivery?.text;
  }

  /** The reply of this turn goes with an answer: it is not told once more, unless that answer does not arrive. */
  holdTurn(turn: TurnName): void {
    const owner = this.#newOwner();
    if (holdTurn(turn, this.requester, owner, this.world)) this.#onTheWay.push(owner);
  }

  /** Each parcel has a holder of its own: a call that comes in meanwhile says nothing about it. */
  #newOwner(): string {
    return `mcp:${process.pid}:${this.#id}:${++this.#parcels}`;
  }
}

/** What the server is made of, and what it says when something goes wrong. */
type Serving = {
  readonly world: RunsWorld;
  readonly isInside: boolean;
  /** The client has gone: nobody waits for an answer any more. */
  readonly gone: AbortSignal;
  readonly complain: (what: string, error: unknown) => void;
  /** Told of every call until it is answered. */
  readonly watch: (call: Promise<unknown>) => void;
};

/** News go with an answer that leaves them room: clients cut what is long, and what is cut would count as read. */
const ANSWER_LENGTH_WITH_NEWS_MAX = 8000;
/** Some clients take each such message as a reason to wait longer; none needs them often. */
const PROGRESS_EVERY_MS = 5000;

/** The server of one connection, not yet connected. A sub-agent is told of no tool, and refused what it calls. */
export function newServer(serving: Serving): Server {
  const { world, isInside, complain, watch } = serving;
  const server = new Server(
    { name: 'self-generation', version: VERSION },
    { capabilities: { tools: {} }, ...(isInside ? {} : { instructions: INSTRUCTIONS }) },
  );
  server.onerror = (error) => complain('understand the client', error);
  let connection: Connection | undefined;
  const connected = () => {
    connection ??= new Connection(world, server.getClientVersion()?.name);
    return connection;
  };
  server.setRequestHandler(ListToolsRequestSchema, () => {
    return { tools: isInside ? [] : listTools(agentIdsFor(connected())) };
  });
  server.setRequestHandler(CallToolRequestSchema, ({ params: { name, arguments: given, _meta } }, extra) => {
    const tool = toolNamed(name);
    if (tool === undefined) throw new McpError(ErrorCode.InvalidParams, `There is no tool "${name}"`);
    if (isInside) return toolResult({ kind: 'refused', ...refuseInside(name, 'mcp', world) }, undefined);
    const token = _meta?.progressToken;
    const pulse = startPulse((progress, message) => {
      if (token === undefined) return;
      const params = { progressToken: token, progress, message };
      extra.sendNotification({ method: 'notifications/progress', params }).catch(() => {}); // Nobody listens any more.
    });
    const signal = AbortSignal.any([extra.signal, serving.gone]);
    const asked = { world: callersWorld(world, _meta), signal, progress: pulse.say, complain };
    const result = answerCall((call) => tool(given, call), connected, asked).finally(pulse.stop);
    watch(result);
    return result;
  });
  return server;
}

/** Codex names its session in each call, and not in the server's environment as other clients do. */
function callersWorld(world: RunsWorld, meta: unknown): RunsWorld {
  const thread = isRecord(meta) ? readString(meta, 'threadId') : undefined;
  return thread === undefined ? world : { ...world, env: { ...world.env, CODEX_THREAD_ID: thread } };
}

function agentIdsFor({ requester, world }: Connection): string[] {
  return agentsFor(agentOfKey(requester.key), world).agents.map(({ id }) => id);
}

async function answerCall(
  act: (call: ToolCall) => Answer | Promise<Answer>,
  connected: () => Connection,
  { complain, ...asked }: Omit<ToolCall, 'requester' | 'holdTurn'> & Pick<Serving, 'complain'>,
): Promise<CallToolResult> {
  let connection: Connection;
  try {
    connection = connected();
    connection.acknowledge();
  } catch (error) {
    return toolResult(failed(reasonOf(error)), undefined);
  }
  advance(asked.world);
  const holdTurn = (turn: TurnName) => {
    try {
      connection.holdTurn(turn);
    } catch (error) {
      complain('note that a reply was given', error); // Then it is told once more.
    }
  };
  const call = { ...asked, requester: connection.requester, holdTurn };
  const answer = await (async () => act(call))().catch((error: unknown) => failed(reasonOf(error)));
  const hasRoom =
    answer.kind === 'value' && JSON.stringify(answer.value).length <= ANSWER_LENGTH_WITH_NEWS_MAX;
  if (!hasRoom || asked.signal.aborted) return toolResult(answer, undefined);
  try {
    return toolResult(answer, connection.takeNews());
  } catch (error) {
    complain('look for news', error); // What was asked has been done, and its answer counts.
    return toolResult(answer, undefined);
  }
}

/** Says how far a call is, again and again: from the first time that there is something to say. */
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
