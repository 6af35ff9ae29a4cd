import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';

/** Where the tests run: `ended` means that they ran in a child, in a network namespace of their own. */
type NamespaceEntry =
  | { readonly kind: 'inside' }
  | { readonly kind: 'ended'; readonly exitCode: number }
  | { readonly kind: 'refused'; readonly reason: string };

/** The kernel's tables of this process's network namespace. */
export type NetworkTables = { readonly devices: string; readonly routes: string; readonly routes6: string };

const MARK = 'SELF_GENERATION_CLIENT_TESTS';
const PROBE_TIMEOUT_MS = 10_000;
/** Kernels with tunnel modules put these, down and without a route, into every new namespace. */
const FALLBACK_TUNNELS = /^(?:tunl|gre|gretap|erspan|ip_vti|ip6_vti|sit|ip6tnl|ip6gre)0$/;

const RAISE_LOOPBACK = `
ip link set lo up 2>/dev/null || ifconfig lo up 2>/dev/null || python3 -c '
import fcntl, socket, struct
request = struct.pack("16sh22x", b"lo", 1)
fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914, request)
' || { echo "Cannot raise lo: ip, ifconfig and python3 failed" >&2; exit 3; }
exec "$@"`;

/**
 * Runs this process's own command again in a namespace that has only `lo`, so that no byte of the client can leave
 * the machine. In the child it verifies that this is so, and throws where it is not. `prepare` runs before, outside,
 * and only where a namespace can be had.
 */
export async function enterNamespace(prepare: () => Promise<unknown>): Promise<NamespaceEntry> {
  if (process.env[MARK] === 'inside') {
    const leaks = findLeaks(readTables());
    if (leaks.length > 0) throw new Error(`Cannot start the client: not isolated: ${leaks.join(', ')}`);
    return { kind: 'inside' };
  }
  const unshare = ['--net'];
  if (process.getuid?.() !== 0) unshare.unshift('--map-root-user');
  const probe = spawnSync('unshare', [...unshare, 'true'], { encoding: 'utf8', timeout: PROBE_TIMEOUT_MS });
  if (probe.status !== 0) {
    const said = probe.error?.message ?? probe.stderr.trim();
    return { kind: 'refused', reason: `network namespaces are not allowed here (unshare --net: ${said})` };
  }
  await prepare();
  const command = readFileSync('/proc/self/cmdline', 'utf8').split('\0').slice(1, -1);
  const child = spawnSync(
    'unshare',
    [...unshare, 'sh', '-c', RAISE_LOOPBACK, 'sh', process.execPath, ...command],
    { stdio: 'inherit', env: { ...process.env, [MARK]: 'inside' } },
  );
  return { kind: 'ended', exitCode: child.status ?? 1 };
}

/** The kernel's tables. Not /sys/class/net: inside a new namespace that still shows the outer devices. */
function readTables(): NetworkTables {
  return {
    devices: readFileSync('/proc/net/dev', 'utf8'),
    routes: readFileSync('/proc/net/route', 'utf8'),
    routes6: readOptional('/proc/net/ipv6_route'),
  };
}

/** What leads out of the namespace: devices and routes other than those of `lo`; none at all is a leak too. */
export function findLeaks({ devices, routes, routes6 }: NetworkTables): string[] {
  const names = lines(devices)
    .slice(2)
    .map((line) => line.split(':')[0]?.trim() ?? '');
  const routed = [
    ...lines(routes)
      .slice(1)
      .map((line) => line.split(/\s+/)[0] ?? ''),
    ...lines(routes6).map((line) => line.trim().split(/\s+/).at(-1) ?? ''),
  ];
  const foreign = names.filter((name) => name !== 'lo' && !FALLBACK_TUNNELS.test(name));
  return [
    ...(names.includes('lo') ? [] : ['no device lo: the tables could not be read']),
    ...foreign.map((name) => `device ${name}`),
    ...routed.filter((name) => name !== 'lo').map((name) => `route through ${name}`),
  ];
}

function lines(text: string): string[] {
  return text.split('\n').filter((line) => line.trim() !== '');
}

function readOptional(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return ''; // A kernel without IPv6 has no such table.
  }
}
