import { examine } from '../../src/setup/doctor.ts';
import { EXAMINED } from '../support/installed.ts';

/**
 * What doctor finds in the HOME of this process, as another user, as JSON:
 *
 *   bun examine-as.main.ts UID PROGRAM
 */
const [uid = '', executablePath = ''] = process.argv.slice(2);
process.setuid?.(Number(uid));
const checks = await examine({ ...EXAMINED, env: process.env, executablePath, now: new Date() });
console.log(JSON.stringify(checks));
