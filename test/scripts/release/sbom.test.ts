import { describe, expect, test } from 'bun:test';
import fc from 'fast-check';
import { releaseSbom, type Sbom } from '../../../scripts/release/sbom.ts';

const RELEASE = { name: 'self-generation', version: '1.2.3', atSeconds: 1_700_000_000, bun: '1.4.4' };
const SELF = 'self-generation@1.2.3';

function component(name: string, version: string) {
  return { 'bom-ref': `${name}@${version}`, name, version };
}

/** As npm lists them, with what it says differently each time. */
function listed(names: readonly string[], said: { folder: string; timestamp: string; npm: string }): Sbom {
  const components = names.map((name) => component(name, '1.0.0'));
  const dependencies = [
    { ref: SELF, dependsOn: components.map((each) => each['bom-ref']) },
    ...components.map((each) => ({ ref: each['bom-ref'], dependsOn: [] })),
  ];
  const self = { ...component('self-generation', '1.2.3'), name: said.folder };
  const metadata = { timestamp: said.timestamp, tools: [{ version: said.npm }], component: self };
  return { metadata, components, dependencies };
}

const names = fc.uniqueArray(fc.stringMatching(/^[a-z]{1,9}$/), { minLength: 1, maxLength: 9 });
const said = fc.record({ folder: fc.string(), timestamp: fc.string(), npm: fc.string() });

describe('the bill of materials', () => {
  test('is the same whatever npm says besides, and in whatever order', () => {
    fc.assert(
      fc.property(names, said, said, (given, one, other) => {
        const bill = JSON.stringify(releaseSbom(listed(given, one), RELEASE));
        expect(JSON.stringify(releaseSbom(listed(given.toReversed(), other), RELEASE))).toBe(bill);
      }),
    );
  });

  test('names every dependency and Bun, which the program depends on', () => {
    const bill = releaseSbom(
      listed(['zod', 'diff'], { folder: 'x', timestamp: '', npm: '' }),
      RELEASE,
    ) as Sbom;
    expect(bill.components.map((each) => each['bom-ref'])).toEqual(['bun@1.4.4', 'diff@1.0.0', 'zod@1.0.0']);
    const self = bill.dependencies.find(({ ref }) => ref === SELF);
    expect(self?.dependsOn).toEqual(['bun@1.4.4', 'diff@1.0.0', 'zod@1.0.0']);
    expect(bill.metadata).toMatchObject({
      timestamp: '2023-11-14T22:13:20.000Z',
      component: { name: 'self-generation', type: 'application' },
    });
  });

  test('has another serial number when anything in it is different', () => {
    const serial = (given: readonly string[], release = RELEASE) =>
      (
        releaseSbom(listed(given, { folder: 'x', timestamp: '', npm: '' }), release) as {
          serialNumber: string;
        }
      ).serialNumber;
    expect(serial(['zod'])).toMatch(
      /^urn:uuid:[\da-f]{8}-[\da-f]{4}-8[\da-f]{3}-[89ab][\da-f]{3}-[\da-f]{12}$/,
    );
    const serials = [serial(['zod']), serial(['diff']), serial(['zod'], { ...RELEASE, bun: '1.4.5' })];
    expect(new Set(serials).size).toBe(3);
  });
});
