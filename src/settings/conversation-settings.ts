import { readTextFile } from '#runtime';
import { CLIENT_NAMES } from '../core/client-name.ts';
import type { StatePaths } from '../core/state-paths.ts';
import { THINKING_LEVELS } from '../runs/model/run.ts';
import {
  boolean,
  isWord,
  oneOf,
  parseSettings,
  readSection,
  row,
  typeOf,
  type Values,
} from './hook-settings.ts';
import { orNull } from './run-settings.ts';

/** What becomes of a message while another one is being answered. */
export const QUEUE_MODES = ['one-by-one', 'collect', 'steer', 'interrupt'] as const;
export type QueueMode = (typeof QUEUE_MODES)[number];

const client = orNull(oneOf(...CLIENT_NAMES));
const model = orNull(typeOf<string>('a name', isWord));
const answers = typeOf<number>(
  'a whole number from 1 to 1000',
  (found) => Number.isInteger(found) && Number(found) >= 1 && Number(found) <= 1000,
);

/** The settings of the main agent and of what it remembers, one row each. */
export const CONVERSATION_SETTINGS = {
  run: {
    client: row(client, null, 'the program that "run" talks to; null: claude, or that of who calls'),
    model: row(model, null, 'its model; null: the client chooses'),
    effort: row(orNull(oneOf(...THINKING_LEVELS)), null, 'how much it thinks; null: the client chooses'),
    queue: row(
      oneOf(...QUEUE_MODES),
      'one-by-one',
      'a message during an answer waits, joins the one that waits, goes ahead of all, or takes their place',
    ),
  },
  memory: {
    enabled: row(boolean, false, 'true has a model note down what was said with "run", now and then'),
    flushEvery: row(answers, 10, 'after so many answers'),
    injectEvery: row(answers, 2, 'a session that goes on is told the notes again after so many new ones'),
    client: row(client, null, 'the program that is asked; null: that of the conversation'),
    model: row(model, null, 'its model; null: the client chooses'),
  },
};

export type ConversationSettings = Values<typeof CONVERSATION_SETTINGS>;

/** The user's settings of conversations; a missing or unreadable file means the defaults. */
export function loadConversationSettings({ config }: StatePaths): ConversationSettings {
  return readSection(CONVERSATION_SETTINGS, parseSettings(readTextFile(config) ?? '{}'));
}
