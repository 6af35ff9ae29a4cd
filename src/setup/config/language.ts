import type { Environment } from '../../core/state-paths.ts';
import type { Language } from '../../core/told-texts.ts';
import type { RunCommand } from '../../system/run-command.ts';

/** In which language this user's agents are told things. */
export type LanguageChoice = {
  readonly language: Language;
  /** What it was chosen by: the user, or what the machine says. */
  readonly by: 'user' | 'locale' | 'default';
  /** The locale, as it is set; only where it was chosen by that. */
  readonly locale?: string;
};

/** Where the machine says nothing and nobody can be asked. */
export const LANGUAGE_UNKNOWN: Language = 'en';

type LocaleWorld = {
  readonly env: Environment;
  readonly platform: string;
  readonly run: RunCommand;
  /** The locale of this process, which on Windows is the user's. */
  readonly intl?: string;
};

const LOCALE_LIMIT_MS = 2000;

/** Korean for a Korean locale, English for any other; undefined where none is set, or one that is no language's. */
export async function languageByLocale(world: LocaleWorld): Promise<LanguageChoice | undefined> {
  const locale = localeIn(world.env) ?? (await systemLocale(world));
  if (locale === undefined) return undefined;
  return { language: /^ko(?:[^a-z]|$)/i.test(locale) ? 'ko' : 'en', by: 'locale', locale };
}

/** Of messages, as POSIX has it; LANGUAGE comes first where there is a locale at all. */
function localeIn({ LANGUAGE, LC_ALL, LC_MESSAGES, LANG }: Environment): string | undefined {
  const locale = namedLocale(LC_ALL || LC_MESSAGES || LANG);
  return (locale && namedLocale(LANGUAGE?.split(':')[0])) ?? locale;
}

function namedLocale(locale: string | undefined): string | undefined {
  return locale !== undefined && /^[a-z]{2,3}(?:[^a-z]|$)/i.test(locale) ? locale : undefined;
}

/** What a system that has it elsewhere says; there the variables are mostly not set. */
async function systemLocale({ env, platform, run, intl }: LocaleWorld): Promise<string | undefined> {
  if (platform === 'win32') return namedLocale(intl ?? Intl.DateTimeFormat().resolvedOptions().locale);
  if (platform !== 'darwin') return undefined;
  const words = ['read', '-g', 'AppleLocale'];
  const end = await run('/usr/bin/defaults', words, { env, cwd: '/', timeoutMs: LOCALE_LIMIT_MS });
  return end.kind === 'exited' && end.code === 0 ? namedLocale(end.stdout.trim()) : undefined;
}

const NAMES: Readonly<Record<Language, string>> = { en: 'English', ko: 'Korean' };

/** What the user is told of the choice. */
export function languageWords({ language, by, locale }: LanguageChoice): string {
  const reasons = {
    user: '',
    locale: `, by your locale ${locale}`,
    default: ', as no locale is set',
  };
  return `texts in ${NAMES[language]}${reasons[by]}`;
}
