import * as onBun from '../../src/system/runtime-bun.ts';
import * as onNode from '../../src/system/runtime-node.ts';

/**
 * What another user reads of some files, as JSON:
 *
 *   bun read-as.main.ts UID RUNTIME FILE...
 */
const [uid = '', name, ...files] = process.argv.slice(2);
process.setuid?.(Number(uid));
const { readTextFile } = name === 'runtime-bun' ? onBun : onNode;
console.log(JSON.stringify(files.map((file) => readTextFile(file) ?? null)));
