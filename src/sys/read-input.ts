import { stdinChunks } from './runtime-bun.ts';

/** Standard input as text, or its beginning of `bytesMax`. */
export async function readInput(bytesMax: number): Promise<string> {
  const chunks: Uint8Array[] = [];
  let bytes = 0;
  for await (const chunk of stdinChunks()) {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes >= bytesMax) break;
  }
  return new TextDecoder().decode(Buffer.concat(chunks).subarray(0, bytesMax));
}
