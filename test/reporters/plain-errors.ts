/**
 * What a failed test compared is sent as JSON from mocha's process for its file to the one that prints it, which knows
 * no bigint: the whole file would be lost for the figures of one test. While tests run, JSON refuses a bigint as ever.
 */
export const mochaHooks = {
  beforeAll: () => Reflect.deleteProperty(BigInt.prototype, 'toJSON'),
  afterAll: () => {
    Object.defineProperty(BigInt.prototype, 'toJSON', {
      configurable: true,
      value: function (this: bigint) {
        return `${this}n`;
      },
    });
  },
};
