/** What is in the program, for those who have to know: a CycloneDX bill of materials, from `npm sbom`. */

/** A component as CycloneDX 1.5 has it; what npm says of it besides is kept as it is. */
type Component = { readonly 'bom-ref': string; readonly name: string; readonly version: string };
type Dependency = { readonly ref: string; readonly dependsOn: readonly string[] };
export type Sbom = {
  readonly metadata: { readonly component: Component };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
};

export type Release = {
  readonly name: string;
  readonly version: string;
  /** The time that everything of this release bears, in seconds since 1970. */
  readonly atSeconds: number;
  /** The version of the runtime in the program. */
  readonly bun: string;
};

/**
 * The bill of a release: npm's list of the dependencies, and Bun, which the program is built on. What differs from one run
 * to the next is left out or follows from the content: time, serial number, the folder's name, npm's version.
 */
export function releaseSbom(listed: Sbom, { name, version, atSeconds, bun }: Release): object {
  const { 'bom-ref': self } = listed.metadata.component;
  const runtime = bunComponent(bun);
  const components = [...listed.components, runtime].sort((a, b) => compare(a['bom-ref'], b['bom-ref']));
  const dependencies = [...listed.dependencies, { ref: runtime['bom-ref'], dependsOn: [] }]
    .map(({ ref, dependsOn }) => ({
      ref,
      dependsOn: [...dependsOn, ...(ref === self ? [runtime['bom-ref']] : [])].sort(compare),
    }))
    .sort((a, b) => compare(a.ref, b.ref));
  const bill = {
    metadata: {
      timestamp: new Date(atSeconds * 1000).toISOString(),
      tools: [{ vendor: 'npm', name: 'cli' }],
      component: { ...listed.metadata.component, type: 'application', name, version, properties: [] },
    },
    components,
    dependencies,
  };
  return {
    $schema: 'http://cyclonedx.org/schema/bom-1.5.schema.json',
    bomFormat: 'CycloneDX',
    specVersion: '1.5',
    serialNumber: `urn:uuid:${uuidOf(JSON.stringify(bill))}`,
    version: 1,
    ...bill,
  };
}

function bunComponent(version: string) {
  return {
    'bom-ref': `bun@${version}`,
    type: 'platform',
    name: 'bun',
    version,
    scope: 'required',
    purl: `pkg:npm/bun@${version}`,
    licenses: [{ license: { id: 'MIT' } }],
  };
}

/** A UUID of version 8, whose bits are a hash. */
function uuidOf(text: string): string {
  const digits = new Bun.CryptoHasher('sha256').update(text).digest('hex');
  const variant = ((Number.parseInt(digits.charAt(16), 16) & 3) | 8).toString(16);
  const parts = [digits.slice(0, 8), digits.slice(8, 12), `8${digits.slice(13, 16)}`];
  return [...parts, `${variant}${digits.slice(17, 20)}`, digits.slice(20, 32)].join('-');
}

/** By code units: the order of no language. */
function compare(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
