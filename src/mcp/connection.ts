import { randomUUID } from 'node:crypto';
import type { ClientName } from '../core/client-name.ts';
import type { Requester } from '../core/runs/run.ts';
import { acknowledgeDelivery, holdTurn, takeDelivery } from '../subagents/deliver.ts';
import type { RunsWorld, TurnName } from '../subagents/features.ts';
import { requesterHere } from '../subagents/requester.ts';
import { endedSessions, enterServer } from '../subagents/sessions.ts';

/** Two clients cut an answer that is much longer than this. */
const PARCEL_LENGTH_MAX = 12_000;

/** As the clients call themselves when they connect; measured. */
const CLIENTS: Readonly<Record<string, ClientName>> = {
  'claude-code': 'claude',
  'codex-mcp-client': 'codex',
  'gemini-cli-mcp-client': 'gemini',
  opencode: 'opencode',
};

/** One client's connection: for whom it asks, and what it has been handed. */
export class Connection {
  readonly world: RunsWorld;
  readonly requester: Requester;
  readonly #id: string = randomUUID();
  #parcels = 0;
  #isEntered = false;
  /** Went out with an answer; nobody has said yet that it arrived. */
  #onTheWay: string[] = [];

  /** `clientName`: as the client calls itself. @throws Error when nobody can tell for which project it asks. */
  constructor(world: RunsWorld, clientName: string | undefined) {
    const client = CLIENTS[clientName ?? ''] ?? null;
    this.world = world;
    // Claude Code alone has it in its servers' environment (measured with 2.1.328), where other clients may inherit it.
    const own = client === 'claude' && world.env.CLAUDE_CODE_SESSION_ID;
    this.requester = { ...requesterHere(world), client, session: own || `mcp-${this.#id}` };
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
