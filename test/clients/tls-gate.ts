import { execFileSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer as createHttpServer, request } from 'node:http';
import { createServer as createHttpsServer } from 'node:https';
import { type AddressInfo, connect } from 'node:net';
import { join } from 'node:path';

/**
 * An HTTPS proxy on loopback behind which every one of these hosts is the scripted model. So a client can be tested with
 * the user's own login, at the addresses that belong to it, and without a word of configuration.
 */
export type TlsGate = {
  /** For HTTPS_PROXY. */
  readonly url: string;
  /** The certificate that the client has to trust. */
  readonly authority: string;
  /** What was asked, oldest first: `POST api.openai.com/v1/responses`. */
  readonly asked: readonly string[];
  readonly stop: () => void;
};

const HOSTS = ['api.openai.com', 'chatgpt.com', 'auth.openai.com', 'models.opencode.ai', 'models.dev'];
/** The pieces of a certificate of our own; `openssl` is on every machine that runs these tests. */
const MAKE_CERTIFICATES = `
key="-newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes"
openssl req -x509 $key -keyout authority.key -out authority.crt -days 2 -subj '/CN=test authority'
openssl req $key -keyout host.key -out host.csr -subj '/CN=test host'
printf 'subjectAltName=%s' "$1" > host.ext
openssl x509 -req -in host.csr -CA authority.crt -CAkey authority.key -CAcreateserial -days 2 -extfile host.ext -out host.crt
`;

/** Opens the gate; `directory` takes the keys. */
export async function openTlsGate(modelUrl: string, directory: string): Promise<TlsGate> {
  const names = HOSTS.map((host) => `DNS:${host}`).join(',');
  execFileSync('sh', ['-euc', MAKE_CERTIFICATES, 'sh', names], { cwd: directory, stdio: 'ignore' });
  const read = (name: string) => readFileSync(join(directory, name), 'utf8');
  const asked: string[] = [];
  const hosts = createHttpsServer({ key: read('host.key'), cert: read('host.crt') }, (incoming, response) => {
    const { method, headers, url } = incoming;
    asked.push(`${method} ${headers.host}${url?.split('?')[0]}`);
    const model = request(
      `${modelUrl}${url}`,
      { method, headers: { ...headers, host: 'model' } },
      (answer) => {
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        answer.pipe(response);
      },
    );
    model.on('error', () => response.destroy());
    incoming.pipe(model);
  });
  // WebSockets are refused; the client then asks by HTTP.
  hosts.on('upgrade', (_incoming, socket) => {
    socket.end('HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n');
  });
  const hostsPort = await listen(hosts);
  const proxy = createHttpServer((_incoming, response) => void response.writeHead(501).end());
  proxy.on('connect', (incoming, socket) => {
    const [host = '', port] = (incoming.url ?? '').split(':');
    const isLoopback = host === '127.0.0.1'; // A client that has no exceptions from its proxy.
    if (!HOSTS.includes(host) && !isLoopback) {
      asked.push(`refused ${host}`);
      socket.end('HTTP/1.1 502 Bad Gateway\r\n\r\n');
      return;
    }
    const tunnel = connect(isLoopback ? Number(port) : hostsPort, '127.0.0.1', () => {
      socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
      tunnel.pipe(socket);
      socket.pipe(tunnel);
    });
    tunnel.on('error', () => socket.destroy());
    socket.on('error', () => tunnel.destroy());
  });
  const port = await listen(proxy);
  const stop = () => {
    for (const server of [proxy, hosts]) {
      server.close();
      server.closeAllConnections();
    }
  };
  return { url: `http://127.0.0.1:${port}`, authority: join(directory, 'authority.crt'), asked, stop };
}

function listen(server: ReturnType<typeof createHttpServer | typeof createHttpsServer>): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => resolve((server.address() as AddressInfo).port));
  });
}
