import { confirmOnTerminal } from '../../src/cli/confirm.ts';

/** A process that asks one question and prints the answer. */
process.stdout.write(String(await confirmOnTerminal('Really?')));
