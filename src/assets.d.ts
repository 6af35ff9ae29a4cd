// The bundler's text imports have a default export; nothing of ours has.
declare module '*.sql' {
  const text: string;
  // biome-ignore lint/style/noDefaultExport: that is how a text import arrives
  export default text;
}
