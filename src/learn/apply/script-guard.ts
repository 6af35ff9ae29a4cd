/**
 * What stands before the code of a suggested hook. The audit looks for what starts a program, uses the network or makes
 * code out of text; code can hide that from every such look, and then finds here that it is gone. A filter and not a
 * sandbox: files stay in reach. When a runtime has one of these in another form the line throws, and nothing runs.
 */

/** Names that the code cannot use even where the audit has not seen them. All are forbidden by it. */
const HIDDEN_NAMES = 'Bun, globalThis, global, self, fetch, WebSocket, Worker, require';

/** What a hook may use of `process`, and what the runtime itself needs of it. Everything else goes. */
const PROCESS_KEPT = [
  'arch|argv|argv0|cwd|emitWarning|env|execArgv|exit|exitCode|_exiting|_fatalException|features|hrtime|memoryUsage',
  'nextTick|pid|platform|reallyExit|release|stderr|stdin|stdout|uptime|version|versions',
].join('|');

const GLOBALS_REMOVED = [
  'fetch WebSocket Worker BroadcastChannel eval WebAssembly ShadowRealm navigator postMessage onmessage onerror',
  'addEventListener removeEventListener dispatchEvent',
].join(' ');

/** Of `Bun`, which itself cannot be removed; nor can its `fetch`, `plugin`, `dns`, `WebView` and `ModuleGraph`. */
const BUN_REMOVED = [
  '$ FFI S3Client s3 SQL sql postgres RedisClient redis build connect cron jest listen openInEditor registerMacro',
  'secrets serve spawn spawnSync Terminal Transpiler udpSocket',
].join(' ');

/** A listener of an event would be given everything there is by these. */
const EVENT_REMOVED = 'currentTarget target srcElement composedPath';

/**
 * One line, so that the code keeps its line numbers but for one. The way to everything there is goes by the constructor
 * of functions, which at the end is gone itself. `export {}` makes it a module, whatever it is.
 */
export const GUARD = [
  `const [${HIDDEN_NAMES}] = [];`,
  '{',
  "const all = (0, (() => 1).constructor)('return this')();",
  `for (const name of Object.getOwnPropertyNames(all.process)) if (!/^(?:${PROCESS_KEPT})$/.test(name)) delete all.process[name];`,
  `for (const name of '${GLOBALS_REMOVED}'.split(' ')) delete all[name];`,
  `for (const name of '${BUN_REMOVED}'.split(' ')) all.Bun[name] = undefined;`,
  `for (const name of '${EVENT_REMOVED}'.split(' ')) delete Event.prototype[name];`,
  "Object.defineProperty(import.meta, 'require', { value: undefined });",
  "const inert = function Function() { throw new TypeError('Cannot make code out of text'); };",
  'inert.prototype = all.Function.prototype;',
  'all.Function = inert;',
  'for (const make of [function () {}, async () => {}, function* () {}, async function* () {}]) delete make.__proto__.constructor;',
  '}',
  'export {};',
].join(' ');
