// SPDX-License-Identifier: Apache-2.0
import CExpat
package import SimulatedDrives

/// Incremental GPX parser. Document type declarations are rejected, and so are all entities except the five predefined
/// ones.
@safe package final class GPXParser {
  /// Maximum size of one tag, text or comment that expat buffers until it is complete. expat parses the buffer again
  /// with each chunk.
  private static let maximumTokenSize = 262_144

  private let parser: XML_Parser
  private var bytesFed = 0
  private let file: String
  private var document = GPXDocument()
  /// The first problem of the document, with its place.
  private var problem: RouteFileError?

  /// - Parameter file: the name for error messages.
  package init(file: String) throws(RouteFileError) {
    guard let parser = unsafe XML_ParserCreate(nil) else {
      throw RouteFileError(.unreadable, file: file, "cannot be parsed: out of memory")
    }
    unsafe self.parser = parser
    self.file = file
    unsafe XML_SetUserData(parser, Unmanaged.passUnretained(self).toOpaque())
    unsafe XML_SetStartDoctypeDeclHandler(parser) { context, _, _, _, _ in
      unsafe GPXParser.from(context)?.record(
        GPXDocument.Problem(code: .malformed, message: "has a document type (<!DOCTYPE), which GPX has not"))
    }
    unsafe XML_SetElementHandler(
      parser,
      { context, name, attributes in
        guard let self = unsafe GPXParser.from(context), let name = unsafe name else { return }
        unsafe self.start(String(cString: name), attributes)
      },
      { context, _ in
        guard let self = unsafe GPXParser.from(context) else { return }
        self.record(self.document.end())
      })
    unsafe XML_SetCharacterDataHandler(parser) { context, text, count in
      guard let self = unsafe GPXParser.from(context), let text = unsafe text, count > 0, self.document.wantsText else {
        return
      }
      let bytes = unsafe UnsafeRawBufferPointer(start: text, count: Int(count))
      unsafe self.document.text(bytes.map { $0 })
    }
  }

  deinit { unsafe XML_ParserFree(parser) }

  /// Parses the next chunk of the file. Must not be called after an error.
  package func parse(_ bytes: ArraySlice<UInt8>) throws(RouteFileError) {
    try parse(bytes, isFinal: false)
  }

  /// Ends the file, and returns the route.
  package func finish() throws(RouteFileError) -> Route {
    try parse([], isFinal: true)
    guard let route = document.route else {
      throw RouteFileError(
        .invalid, file: file,
        "has no track, route or waypoints of two points or more; a GPX file with a <trk> or a <rte> is expected")
    }
    return route
  }

  private func parse(_ bytes: ArraySlice<UInt8>, isFinal: Bool) throws(RouteFileError) {
    if let problem { throw problem }
    // Chunks have at most 64 KB; a longer chunk is split, because the parser's lengths are Int32.
    var rest = bytes
    repeat {
      let piece = rest.prefix(1 << 20)
      rest = rest.dropFirst(piece.count)
      let isLast = isFinal && rest.isEmpty
      let status = unsafe piece.withUnsafeBytes { bytes in
        unsafe XML_Parse(
          parser, bytes.baseAddress?.assumingMemoryBound(to: CChar.self), Int32(bytes.count), isLast ? 1 : 0)
      }
      if let problem { throw problem }
      bytesFed += piece.count
      if status == XML_STATUS_OK, !isLast,
        unsafe bytesFed - Int(XML_GetCurrentByteIndex(parser)) > GPXParser.maximumTokenSize
      {
        record(GPXDocument.Problem(code: .tooLarge, message: "has a tag that is longer than 256 kB"))
      }
      if let problem { throw problem }
      guard status == XML_STATUS_OK else {
        let reason = unsafe XML_ErrorString(XML_GetErrorCode(parser)).map { unsafe String(cString: $0) }
        let error = error(
          GPXDocument.Problem(code: .malformed, message: "is not valid XML: \(reason ?? "unknown error")"))
        problem = error
        throw error
      }
    } while !rest.isEmpty
  }

  private func start(_ name: String, _ attributes: UnsafeMutablePointer<UnsafePointer<CChar>?>?) {
    var pairs: [(String, String)] = []
    // Alternating names and values, terminated by a null name. Only the attributes of points are needed.
    if GPXDocument.isPoint(name), var next = unsafe attributes {
      while let name = unsafe next[0], let value = unsafe next[1] {
        unsafe pairs.append((String(cString: name), String(cString: value)))
        unsafe next += 2
      }
    }
    record(document.start(name, attributes: pairs))
  }

  /// Records the first problem, and stops the parser.
  private func record(_ problem: GPXDocument.Problem?) {
    guard let problem, self.problem == nil else { return }
    self.problem = error(problem)
    _ = unsafe XML_StopParser(parser, 0)
  }

  private func error(_ problem: GPXDocument.Problem) -> RouteFileError {
    let line = unsafe Int(clamping: XML_GetCurrentLineNumber(parser))
    let column = unsafe Int(clamping: XML_GetCurrentColumnNumber(parser))
    return RouteFileError(problem.code, file: file, line: line, column: column &+ 1, problem.message)
  }

  private static func from(_ context: UnsafeMutableRawPointer?) -> GPXParser? {
    guard let context = unsafe context else { return nil }
    return unsafe Unmanaged<GPXParser>.fromOpaque(context).takeUnretainedValue()
  }
}
