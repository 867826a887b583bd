// SPDX-License-Identifier: Apache-2.0
// Listens for words and shows the last one.
import Samara
import SwiftUI

@main
struct WordsApp: App {
  var body: some Scene {
    WindowGroup { WordsView() }
  }
}

struct WordsView: View {
  @StateObject private var words = Words()

  var body: some View {
    Text(words.problem ?? words.last)
      .font(.largeTitle)
      .task { await words.listen() }
  }
}

/// The last word that the microphone picked up.
@MainActor
final class Words: ObservableObject {
  @Published private(set) var last = "Say yes, no or stop."
  @Published private(set) var problem: String?

  /// Listen until the view disappears.
  func listen() async {
    do {
      for try await word in Self.heard() { last = word }
    } catch {
      problem = "\(error)"
    }
  }

  /// Returns words as they are spoken. A detached task runs the model, off the main thread.
  private static func heard() -> AsyncThrowingStream<String, Error> {
    AsyncThrowingStream { stream in
      let task = Task.detached {
        do {
          let session = try Session(Model(named: "words"))
          let microphone = Microphone()
          for try await answer in session.predictEach(try await microphone.portions()) {
            let word = answer.classification!.label
            if word != "other" { stream.yield(word) }
          }
          stream.finish()
        } catch {
          stream.finish(throwing: error)
        }
      }
      stream.onTermination = { _ in task.cancel() }
    }
  }
}
