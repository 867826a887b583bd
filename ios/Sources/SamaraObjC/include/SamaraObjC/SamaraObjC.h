// SPDX-License-Identifier: Apache-2.0
// samara for Objective-C: models, sessions, pictures and answers.
//
//   NSError *error;
//   SMRModel *model = [[SMRModel alloc] initWithName:@"digits" bundle:nil error:&error];
//   SMRSession *session = [[SMRSession alloc] initWithModel:model error:&error];
//   for (SMRFinding *guess in [session predictImage:picture error:&error].findings) ...
//
// What can fail returns nil or NO and an NSError (SMRError.h); nothing raises.
#import "SMRAnswer.h"
#import "SMRError.h"
#import "SMRImage.h"
#import "SMRModel.h"
#import "SMRSession.h"
#import "SMRTensor.h"
