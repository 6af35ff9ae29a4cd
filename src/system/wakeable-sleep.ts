/** A sleep of one sleeper that something else may end early. To be woken while awake ends the next sleep at once: it is not lost. */
export class WakeableSleep {
  #isWoken = false;
  #end = () => {};

  wake(): void {
    this.#isWoken = true;
    this.#end();
  }

  /** Resolves after so long, or when woken: with true, then. */
  async sleep(timeoutMs: number): Promise<boolean> {
    if (!this.#isWoken)
      await new Promise<void>((resolve) => {
        const timer = setTimeout(resolve, timeoutMs);
        // A function that is replaced: a promise that is raced again and again would keep every one of them.
        this.#end = () => {
          clearTimeout(timer);
          resolve();
        };
      });
    const isWoken = this.#isWoken;
    this.#isWoken = false;
    return isWoken;
  }
}
