import { type CircumstantialFact, count } from './fact.ts';

const WEEKDAYS = ['MONDAY', 'TUESDAY', 'WEDNESDAY', 'THURSDAY', 'FRIDAY', 'SATURDAY', 'SUNDAY'] as const;

/** What the clock and the calendar on the platform's wall say. */
export const CALENDAR_FACTS = {
  hourOfDay: {
    kind: 'circumstantial',
    domain: count(23),
    unit: 'hours',
    description: "Full hours since midnight in the platform's timeZone, as its clocks show them: 0 to 23.",
    read: ({ timeZone, now }) => wallTime(timeZone, now).hour,
  },
  dayOfWeek: {
    kind: 'circumstantial',
    domain: { type: 'enum', values: WEEKDAYS },
    unit: null,
    description: "The day of the week in the platform's timeZone.",
    read: ({ timeZone, now }) => WEEKDAYS[wallTime(timeZone, now).dayOfWeek - 1] ?? 'MONDAY',
  },
} as const satisfies Record<string, CircumstantialFact>;

function wallTime(timeZone: string, epochMs: number): Temporal.ZonedDateTime {
  return Temporal.Instant.fromEpochMilliseconds(epochMs).toZonedDateTimeISO(timeZone);
}
