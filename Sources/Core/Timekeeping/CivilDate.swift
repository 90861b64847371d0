// SPDX-License-Identifier: Apache-2.0

/// A day of the proleptic Gregorian calendar.
package struct CivilDate: Hashable, Sendable {
  /// 0 to 9999.
  package let year: Int
  /// 1 to 12.
  package let month: Int
  /// 1 to 31.
  package let day: Int

  /// Nil when there is no such day or the year is not 0 to 9999.
  package init?(year: Int, month: Int, day: Int) {
    guard (0...9999).contains(year), (1...12).contains(month), day >= 1,
      day <= CivilDate.daysInMonth(month, year: year)
    else { return nil }
    self.year = year
    self.month = month
    self.day = day
  }

  /// - Parameter daysSince1970: clamped to the years 0 to 9999.
  package init(daysSince1970: Int64) {
    // Counting from 0000-03-01 puts the leap day last in its year; 400 years are 146,097 days.
    let days = min(max(daysSince1970, -719_528), 2_932_896) + 719_468
    let era = (days >= 0 ? days : days - 146_096) / 146_097
    let dayOfEra = days - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthFromMarch = (5 * dayOfYear + 2) / 153
    day = Int(dayOfYear - (153 * monthFromMarch + 2) / 5 + 1)
    month = Int(monthFromMarch < 10 ? monthFromMarch + 3 : monthFromMarch - 9)
    year = Int(yearOfEra + era * 400 + (month <= 2 ? 1 : 0))
  }

  /// Days since 1970-01-01; negative before it.
  package var daysSince1970: Int64 {
    let year = Int64(month <= 2 ? self.year - 1 : self.year)
    let era = (year >= 0 ? year : year - 399) / 400
    let yearOfEra = year - era * 400
    let monthFromMarch = Int64(month > 2 ? month - 3 : month + 9)
    let dayOfYear = (153 * monthFromMarch + 2) / 5 + Int64(day) - 1
    let dayOfEra = yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear
    return era * 146_097 + dayOfEra - 719_468
  }

  private static func daysInMonth(_ month: Int, year: Int) -> Int {
    switch month {
    case 2: (year % 4 == 0 && year % 100 != 0) || year % 400 == 0 ? 29 : 28
    case 4, 6, 9, 11: 30
    default: 31
    }
  }
}

extension Timestamp {
  /// A day and the milliseconds since its midnight. 86,400,000 and more belong to the next day, as a leap second does.
  package init(_ date: CivilDate, millisecondsOfDay: Int64) {
    self.init(milliseconds: date.daysSince1970 * 86_400_000 + millisecondsOfDay)
  }

  /// The day in UTC.
  package var date: CivilDate {
    // Division truncates toward zero, but a day before 1970 starts at the next lower multiple.
    CivilDate(daysSince1970: milliseconds / 86_400_000 - (milliseconds % 86_400_000 < 0 ? 1 : 0))
  }
}
