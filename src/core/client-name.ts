import { foldersOfClients } from './client-folders.ts' with { type: 'macro' };

/** The coding CLIs that this program can start: the rows of clients/table.ts, of which only the names are taken. */
export type ClientName = keyof typeof import('../clients/table.ts');

/** By the folders of src/clients, read when the program is built: hooks know the names without loading the clients. */
export const CLIENT_NAMES = foldersOfClients() as readonly ClientName[];
