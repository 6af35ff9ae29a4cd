import { foldersOfClients } from './client-folders.ts' with { type: 'macro' };

/**
 * The coding CLIs that this program can start, by the folders of src/clients. They are read when the program is built:
 * hooks know the names without loading the clients. No union of names to the type checker: that would have to come from
 * the table of the clients, and nothing here may know them.
 */
export const CLIENT_NAMES: readonly string[] = foldersOfClients();

export type ClientName = string;
