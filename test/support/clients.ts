import * as TABLE from '../../src/clients/table.ts';

/** The clients that there are, each by its own name. */
export type ClientName = keyof typeof TABLE;
export const CLIENT_NAMES = Object.keys(TABLE) as ClientName[];
export const CLIENTS = TABLE;
