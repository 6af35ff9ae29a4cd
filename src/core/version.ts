declare const SELF_GENERATION_VERSION: string | undefined;

/** The version in package.json, written in by the build; from source it is `source`. */
export const VERSION: string =
  typeof SELF_GENERATION_VERSION === 'string' ? SELF_GENERATION_VERSION : 'source';
