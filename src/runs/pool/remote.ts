/** Addresses from which a worker fetches. They come from somebody else, so that only what is known is let through. */

const HTTPS = /^https:\/\/(?:[^/@]*@)?([a-zA-Z0-9][\w.-]*(?::\d+)?)(\/[^\s]+)$/;
const SSH = /^ssh:\/\/(?:(\w[\w.-]*)(?::[^/@]*)?@)?([a-zA-Z0-9][\w.-]*(?::\d+)?)(\/[^\s]+)$/;
/** `git@host:owner/name.git`. A letter alone before the colon is a drive of Windows. */
const SCP = /^(?:(\w[\w.-]*)@)?([a-zA-Z0-9][\w.-]+):(?!\/\/)([^\s:-][^\s:]*)$/;
const LENGTH_MAX = 1000;

export type RemoteKind = 'https' | 'ssh' | 'file';

/** The address as it is told to others: without a password or token. Undefined when no other machine could use it. */
export function toldRemote(url: string): { readonly url: string; readonly kind: RemoteKind } | undefined {
  if (url.length > LENGTH_MAX) return undefined;
  const [, host, path] = HTTPS.exec(url) ?? [];
  if (host !== undefined) return { url: `https://${host}${path}`, kind: 'https' };
  const [, user, sshHost, sshPath] = SSH.exec(url) ?? [];
  if (sshHost !== undefined)
    return { url: `ssh://${user === undefined ? '' : `${user}@`}${sshHost}${sshPath}`, kind: 'ssh' };
  if (SCP.test(url)) return { url, kind: 'ssh' };
  const directory = url.replace(/^file:\/\/(?=\/)/, '');
  return directory.startsWith('/') && !/[\n\0]/.test(directory)
    ? { url: directory, kind: 'file' }
    : undefined;
}

/** What git may fetch this address by; undefined: nothing, it is refused. `allowsLocal`: directories of this machine too. */
export function protocolOf(url: string, allowsLocal: 'local too' | 'remote alone'): RemoteKind | undefined {
  const told = toldRemote(url);
  if (told === undefined || told.url !== url) return undefined;
  return told.kind === 'file' && allowsLocal === 'remote alone' ? undefined : told.kind;
}
