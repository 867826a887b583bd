// SPDX-License-Identifier: Apache-2.0
// Declarations of CoreMedia that the samples use, after Apple's documentation, to check their types
// on machines without them. Nothing runs.
import CoreVideo

public class CMSampleBuffer {}
public func CMSampleBufferGetImageBuffer(_ sbuf: CMSampleBuffer) -> CVImageBuffer? { fatalError() }
