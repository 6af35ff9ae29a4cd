import { spawnSync } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { createServer } from 'node:net';

/** Who was tried to be reached in this network namespace, past the proxy. */
export type Attempts = { readonly seen: string[]; readonly stop: () => void };

const NAME_START = 12;
const PORTS = [80, 443];

/**
 * Takes every address for one of this machine's, so that no attempt fails without having been seen: names that are asked
 * for, whoever is asked, and connections to the usual ports. To be called in a namespace of its own only.
 */
export async function watchAttempts(): Promise<Attempts> {
  const end = spawnSync('ip', ['route', 'replace', 'local', '0.0.0.0/0', 'dev', 'lo'], { encoding: 'utf8' });
  if (end.status !== 0) throw new Error(`Cannot watch the network: ip: ${end.stderr ?? end.error?.message}`);
  const seen: string[] = [];
  const names = createSocket('udp4', (message, { port, address }) => {
    seen.push(`name ${nameIn(message)}`);
    const answer = Buffer.from(message);
    answer[2] = 0x81;
    answer[3] = 0x83; // There is no such name.
    names.send(answer, port, address);
  });
  await new Promise<void>((resolve) => names.bind(53, '0.0.0.0', resolve));
  const servers = PORTS.map((port) =>
    createServer((socket) => {
      seen.push(`port ${port} of ${socket.localAddress}`);
      socket.destroy();
    }).listen(port, '0.0.0.0'),
  );
  const stop = () => {
    names.close();
    for (const server of servers) server.close();
  };
  return { seen, stop };
}

function nameIn(question: Buffer): string {
  const labels: string[] = [];
  for (let at = NAME_START; at < question.length && question[at] !== 0; at += (question[at] ?? 0) + 1) {
    labels.push(question.toString('latin1', at + 1, at + 1 + (question[at] ?? 0)));
  }
  return labels.join('.');
}
