import { expect } from 'chai';
import { platformName } from '../../src/client/client-key.ts';
import { CALENDAR_FACTS } from '../../src/facts/request.ts';

/** The calendar facts of a platform at a time in UTC. */
function wall(instant: string, timeZone: string) {
  const circumstances = { platform: platformName('demo'), timeZone, now: Date.parse(instant) };
  return {
    hour: CALENDAR_FACTS.hourOfDay.read(circumstances),
    day: CALENDAR_FACTS.dayOfWeek.read(circumstances),
  };
}

describe('the calendar facts', () => {
  it('use the time zone of the platform, not that of the machine', () => {
    const instant = '2026-01-04T23:30:00Z';
    expect(wall(instant, 'UTC')).to.deep.equal({ hour: 23, day: 'SUNDAY' });
    expect(wall(instant, 'Asia/Kolkata')).to.deep.equal({ hour: 5, day: 'MONDAY' });
    expect(wall(instant, 'America/Los_Angeles')).to.deep.equal({ hour: 15, day: 'SUNDAY' });
  });

  it('leave out the hour that summer time skips', () => {
    expect(wall('2026-03-29T00:59:59Z', 'Europe/Berlin').hour).to.equal(1);
    expect(wall('2026-03-29T01:00:00Z', 'Europe/Berlin').hour).to.equal(3);
  });

  it('repeat the hour that the end of summer time repeats', () => {
    const hours = ['00:30', '01:30', '02:30'].map(
      (time) => wall(`2026-10-25T${time}:00Z`, 'Europe/Berlin').hour,
    );
    expect(hours).to.deep.equal([2, 2, 3]);
  });

  it('begin the day at midnight, hour 0', () => {
    expect(wall('2026-07-05T21:59:59.999Z', 'Europe/Berlin')).to.deep.equal({ hour: 23, day: 'SUNDAY' });
    expect(wall('2026-07-05T22:00:00.000Z', 'Europe/Berlin')).to.deep.equal({ hour: 0, day: 'MONDAY' });
  });
});
