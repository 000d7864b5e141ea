import { expect } from 'chai';
import { student975 } from '../../src/statistics/intervals.ts';

describe("the 97.5 % point of Student's t", () => {
  it('equals that of the tables', () => {
    const table = [
      [1, 12.706],
      [2, 4.303],
      [3, 3.182],
      [5, 2.571],
      [10, 2.228],
      [30, 2.042],
      [120, 1.98],
      [1e9, 1.96],
    ] as const;
    for (const [degrees, point] of table)
      expect(student975(degrees), `${degrees}`).to.be.closeTo(point, 0.004);
  });
});
